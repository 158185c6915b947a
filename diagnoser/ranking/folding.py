"""Which finding is a consequence of which, and the order of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from diagnoser.ranking.merging import Group
from diagnoser.rules.model import CONFIDENCES, SEVERITIES

#: Cause to the cause it is shown under; None for a root.
Parents = dict[str, str | None]


def fold(groups: Mapping[str, Group], explains: Mapping[str, Iterable[str]]) -> Parents:
    """Choose for each cause the one it is a consequence of.

    One cause can explain another when the explains graph leads from it there and both were seen in one run. Of several,
    roots are preferred, then the more severe, then the earlier. Of causes that explain each other the one that does so
    over fewer steps is the cause, then the earlier, then the one with more to gain.
    """
    reach = {name: _reach(name, explains, groups) for name in groups}
    worst = {name: max([_level(groups[other]) for other in _under(name, reach, groups)]) for name in groups}
    above = {name: {other for other in groups if _explains(other, name, groups, reach, worst)} for name in groups}
    parents: Parents = {}
    for name in groups:
        candidates = {other for other in above[name] if not above[other]} or above[name]
        parents[name] = min(candidates, key=lambda other: _preference(groups[other]), default=None)
    for name in groups:
        _break_circle(name, parents, groups)
    return parents


def _break_circle(name: str, parents: Parents, groups: Mapping[str, Group]) -> None:
    """Make the most senior of a circle its root; circles come from explanations of different lengths."""
    path: list[str] = []
    at: str | None = name
    while at is not None and at not in path:
        path.append(at)
        at = parents[at]
    if at is not None:
        senior = min(path[path.index(at) :], key=lambda other: _seniority(groups[other]))
        parents[senior] = None


def in_order(groups: Mapping[str, Group], parents: Parents) -> Iterator[tuple[Group, str]]:
    """Yield every group with the severity to report, worst root first, each root followed by its consequences."""
    members: dict[str, list[str]] = {}
    for name in groups:
        members.setdefault(_root(name, parents), []).append(name)

    def place(root: str) -> tuple[Any, ...]:
        group, level = groups[root], max(_level(groups[name]) for name in members[root])
        died = level == SEVERITIES.index("critical") and any(groups[name].crash for name in members[root])
        return (
            -level,
            # The loudest error is often the last of a chain: of crashes the first counts, before any gain.
            (0, *group.onset) if died else (1, 0, 0.0),
            group.main.rule.gain,
            -CONFIDENCES.index(group.confidence),
            -len(group.kinds),
            -group.main.window.seconds,
            group.onset,
            root,
        )

    for root in sorted(members, key=place):
        yield groups[root], SEVERITIES[max(_level(groups[name]) for name in members[root])]
        consequences = [groups[name] for name in members[root] if name != root]
        for group in sorted(consequences, key=lambda one: (-_level(one), one.onset, one.main.rule.id)):
            yield group, group.severity


def _level(group: Group) -> int:
    return SEVERITIES.index(group.severity)


def _root(name: str, parents: Parents) -> str:
    parent = parents[name]
    while parent is not None:
        name, parent = parent, parents[parent]
    return name


def _reach(name: str, explains: Mapping[str, Iterable[str]], found: Collection[str]) -> dict[str, int]:
    """Return what a cause explains, directly or over other causes that were found, with the number of steps to it."""
    seen: dict[str, int] = {}
    level, steps = [name], 0
    while level:
        steps += 1
        level = [other for one in level for other in explains.get(one, ()) if other not in seen and other in found]
        for other in level:
            seen.setdefault(other, steps)
    return seen


def _under(name: str, reach: Mapping[str, Mapping[str, int]], groups: Mapping[str, Group]) -> list[str]:
    return [name, *(other for other in reach[name] if _together(groups[name], groups[other]))]


def _together(one: Group, other: Group) -> bool:
    return not set(one.runs).isdisjoint(other.runs)


def _explains(
    cause: str, name: str, groups: Mapping[str, Group], reach: Mapping[str, Mapping[str, int]], worst: Mapping[str, int]
) -> bool:
    if cause == name or name not in reach[cause] or not _together(groups[cause], groups[name]):
        return False
    # A trial remark must not stand above a fault, and is not raised to one.
    if groups[cause].optional and worst[name] > 0:
        return False
    if cause in reach[name]:
        there, back = reach[cause][name], reach[name][cause]
        if there != back:
            return there < back
        return _seniority(groups[cause]) < _seniority(groups[name])
    return True


def _seniority(group: Group) -> tuple[Any, ...]:
    """Order among causes that explain each other; total, so that what is left has no cycle."""
    return (group.optional, group.onset, group.main.rule.gain, group.main.rule.id)


def _preference(group: Group) -> tuple[Any, ...]:
    return (-_level(group), group.onset, group.main.rule.gain, group.main.rule.id)
