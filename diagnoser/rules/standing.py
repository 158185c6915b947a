"""What of the rule base a version of an engine breaks: messages and metrics that are gone, flags that it refuses."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.grounding import ground
from diagnoser.knowledge.versions import Position, VersionList
from diagnoser.knowledge.vocabulary import Series, Vocabulary
from diagnoser.rules.model import EventSpec, Node, Remedy, Rule, RuleBase, Template
from diagnoser.rules.standing_series import SeriesStanding
from diagnoser.values import dataclass

#: Operators under which what is gone decides: any part will do, all parts are needed.
_ANY, _ALL = ("or", "else"), ("and",)


@dataclass(slots=True, frozen=True)
class Break:
    """One thing that a version lacks. ``breaks``: the rule has nothing in its place. ``nearest`` may be empty."""

    rule: str
    kind: str  # "message" | "sample" | "condition" | "flag" | "variable"
    name: str
    reason: str
    nearest: str = ""
    breaks: bool = False
    stable: bool = True


class Upkeep:
    """Judges the rule base against one version of one engine."""

    def __init__(self, base: RuleBase, vocabulary: Vocabulary, catalog: Catalog, engine: str, version: str) -> None:
        versions = catalog.version_list(engine)
        place = versions.position(version) if versions else None
        if versions is None or place is None:
            raise ValueError(f"no version {version} of {engine} can be placed among those read")
        self._base, self._catalog, self._engine, self._version = base, catalog, engine, version
        self._versions: VersionList = versions
        self._place: Position = place
        self._series = SeriesStanding(vocabulary, catalog, engine, versions, place)
        self._vocabulary = vocabulary
        self._events: dict[str, tuple[bool, bool, str, str]] = {}

    def breaks(self) -> list[Break]:
        """Return everything that the version lacks, by rule, what breaks a rule first."""
        found = [one for rule in self._base.rules.values() if rule.status != "deprecated" for one in self._rule(rule)]
        return sorted(found, key=lambda one: (not one.breaks, one.rule, one.kind, one.name))

    def unread_fields(self) -> list[str]:
        """Return the labels of the version's statistics lines that feed no series."""
        return self._series.unread()

    def _rule(self, rule: Rule) -> Iterator[Break]:
        stable = rule.status == "stable"
        ever, now = self._can(rule.when, False), self._can(rule.when, True)
        if not ever:
            return  # never was a rule of this engine
        gone = sorted(set(self._gone(rule.when)), key=str)
        for kind, name, reason, nearest in gone:
            yield Break(rule.id, kind, name, reason, nearest, not now, stable)
        yield from self._remedies(rule, stable)

    def _can(self, node: Node, now: bool, opened: frozenset[str] = frozenset()) -> bool:
        """Tell whether an expression can become true in some version (``now``: in this one); in doubt it can."""
        parts = [arg for arg in node.args if isinstance(arg, Node)]
        if node.op == "symptom":
            name = str(node.args[0])
            known = self._base.symptoms.get(name)
            return known is None or name in opened or self._can(known, now, opened | {name})
        if node.op == "not":
            return True
        if node.op in _ANY:
            return any(self._can(part, now, opened) for part in parts)
        if node.op == "event":
            ever, alive, _, _ = self._event(str(node.args[0]))
            return alive if now else ever
        if node.op == "series":
            return self._series.can(str(node.args[0]), now)
        if node.op == "if":
            return any(self._can(part, now, opened) for part in parts[1:])
        return all(self._can(part, now, opened) for part in parts)

    def _gone(self, node: Node, opened: frozenset[str] = frozenset()) -> Iterator[tuple[str, str, str, str]]:
        """Yield (kind, name, reason, nearest) of what a condition names and the version lacks."""
        name = str(node.args[0]) if node.args and not isinstance(node.args[0], Node) else ""
        if node.op == "symptom" and name not in opened and name in self._base.symptoms:
            yield from self._gone(self._base.symptoms[name], opened | {name})
        elif node.op == "event":
            ever, alive, reason, nearest = self._event(name)
            if ever and not alive:
                yield "message", name, reason, nearest
        elif node.op == "series" and self._series.can(name, False) and not self._series.can(name, True):
            yield "sample", name, *self._series.why(name)
        for part in node.args:
            if isinstance(part, Node):
                yield from self._gone(part, opened)

    def _event(self, name: str) -> tuple[bool, bool, str, str]:
        """Return (some version prints it, this one does, since when not, the nearest wording) of an event."""
        if name not in self._events:
            spec = self._base.events.get(name)
            self._events[name] = (True, True, "", "") if spec is None else self._look(spec)
        return self._events[name]

    def _look(self, spec: EventSpec) -> tuple[bool, bool, str, str]:
        """Judge an event by its templates: one that lives is enough."""
        mine = [one for one in spec.templates if one.engine in (self._engine, "any")]
        others = [one for one in spec.templates if one.engine not in (self._engine, "any")]
        if not mine:
            return not others, not others, "", ""  # another engine's message
        reasons, nearest = [], ""
        for template in mine:
            alive, reason, near = self._template(template, bool(spec.source))
            if alive:
                return True, True, "", ""
            reasons.append(reason)
            nearest = nearest or near
        return True, False, reasons[-1], nearest

    def _template(self, template: Template, sourced: bool) -> tuple[bool, str, str]:
        """Return (printed by the version, why not, nearest wording now)."""
        if template.engine == "any":
            return True, "", ""
        if ".." in template.versions:
            begin, _, end = template.versions.partition("..")
            first, last = begin or None, end or None
        else:
            told = ground(self._engine, template.text, self._catalog)
            if sourced or not told.found or (told.first is None and told.last is None):
                return True, "", ""  # printed by a library: its versions are not the engine's
            first, last = told.first, told.last
        if self._versions.covers(self._place, first, last):
            return True, "", ""
        early = self._place.low < self._versions.first_index(first)
        return False, f"comes with {first}" if early else f"not printed after {last}", self._nearest(template)

    def _nearest(self, template: Template) -> str:
        """Return the wording that the version prints instead: of the same message, in the same words."""
        told = ground(self._engine, template.text, self._catalog)
        for message in self._catalog.messages(self._engine):
            if message.id in told.messages:
                for one in message.templates:
                    if self._versions.covers(self._place, one.first, one.last):
                        return one.text
        return ""

    def _remedies(self, rule: Rule, stable: bool) -> Iterator[Break]:
        """Yield flags and variables that the version refuses; they break a rule when nothing else is left to do."""
        mine = [one for one in rule.remedies if not one.engines or self._engine in one.engines]
        standing = [self._remedy(one) for one in mine]
        left = any(one is not None and one[0] for one in standing)
        for told in standing:
            if told is not None and not told[0]:
                _, kind, name, reason, nearest = told
                yield Break(rule.id, kind, name, reason, nearest, not left, stable)

    def _remedy(self, remedy: Remedy) -> tuple[bool, str, str, str, str] | None:
        """Return (usable, kind, name, reason, nearest), None for a remedy that never was this engine's."""
        if remedy.action:
            return True, "action", "", "", ""
        if remedy.env:
            variable = dict(remedy.env).get(self._engine)
            if not variable:
                return None
            known = self._catalog.env(self._engine, variable)
            # A variable that no version of the engine reads is a library's own.
            alive = known is None or self._catalog.has_env(self._engine, variable, self._version) is not False
            successor = known.replaced_by if known else ""
            return (
                alive,
                "variable",
                variable,
                f"not read after {known.last}" if known and known.last else "",
                successor,
            )
        knob = self._vocabulary.knobs.get(remedy.knob)
        names = knob.flags.get(self._engine, ()) if knob else tuple(f for e, f in remedy.flag if e == self._engine)
        if not names:
            return None
        alive = any(self._catalog.has_flag(self._engine, name, self._version) for name in names)
        if alive:
            return True, "flag", names[0], "", ""
        story = self._catalog.flag_story(self._engine, names[0], self._version)
        near = self._catalog.nearest_flag(self._engine, names[0], self._version) or ""
        flag = self._catalog.flag(self._engine, names[0])
        return False, "flag", names[0], story, (flag.replaced_by if flag else "") or near


__all__ = ["Break", "Series", "Upkeep"]
