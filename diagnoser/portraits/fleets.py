"""Many servers in one report: kinds of servers, and how many of them show each finding, since when, which first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from diagnoser.contracts.comparison import Odd
from diagnoser.contracts.findings import Finding, RunReport
from diagnoser.contracts.fleetrows import Affected, Apart, Fleet, Kind
from diagnoser.model import Run
from diagnoser.ranking import Sighting
from diagnoser.times import stamp
from diagnoser.values import dataclass, field

#: More servers than this are told of together; fewer can be read one by one.
FEW = 8
#: Names and values that stand for all.
NAMED = 5

Server = tuple[str, str]


@dataclass(slots=True)
class _Seen:
    """A finding over servers: when each began to show it, and what is known of its clock."""

    servers: dict[Server, tuple[float, str] | None] = field(default_factory=dict)
    until: tuple[float, str] | None = None


def fleet(
    runs: Sequence[RunReport],
    read: Mapping[int, Run],
    sightings: Iterable[Sighting],
    findings: Sequence[Finding],
    odd: Sequence[Odd],
) -> Fleet | None:
    """Tell of all servers at once; None where there are few. ``read`` are the runs by id, with their times."""
    of_run = {run.id: server_of(run) for run in runs if run.engine}
    last = {of_run[run.id]: run for run in runs if run.id in of_run}
    if len(last) <= FEW:
        return None
    names = _named(list(last))
    engines = Counter(run.engine for run in last.values())
    seen: dict[str, _Seen] = {}
    for one in sightings:
        if one.run in of_run:
            _note(seen.setdefault(one.rule.id, _Seen()), of_run[one.run], one, read[one.run])
    return Fleet(
        len(last),
        _kinds(runs, of_run, last, read),
        [_affected(one, seen[one.id], names, last, engines) for one in findings if one.id in seen],
        _apart(odd, len(last)),
    )


def server_of(run: RunReport) -> Server:
    """Return what tells a server from others over its restarts: who wrote, and the input."""
    return run.stream, run.sources[0] if run.sources else ""


def _named(servers: Sequence[Server]) -> dict[Server, str]:
    """Name servers by who wrote, and by their input where that is not theirs alone."""
    streams = Counter(stream for stream, _ in servers)
    inputs = dict(zip(servers, shortened([source for _, source in servers]), strict=True))
    return {one: one[0] if one[0] and streams[one[0]] == 1 else inputs[one] for one in servers}


def shortened(names: Sequence[str]) -> list[str]:
    """Return names without the folder that all of them share."""
    if any("/" not in name for name in names):
        return list(names)
    first, final = min(names), max(names)
    same = 0
    while same < min(len(first), len(final)) and first[same] == final[same]:
        same += 1
    cut = first.rfind("/", 0, same) + 1
    return [name[cut:] for name in names]


def _note(seen: _Seen, server: Server, one: Sighting, run: Run) -> None:
    bounds, known = one.window.bounds, run.time_known
    before = seen.servers.get(server)
    moment = None if bounds is None else (bounds[0], known)
    if server not in seen.servers or (moment is not None and (before is None or moment[0] < before[0])):
        seen.servers[server] = moment
    if bounds is not None and (seen.until is None or bounds[1] > seen.until[0]):
        seen.until = (bounds[1], known)


def _affected(
    finding: Finding,
    seen: _Seen,
    names: Mapping[Server, str],
    last: Mapping[Server, RunReport],
    engines: Mapping[str, int],
) -> Affected:
    times = sorted((moment, names[server]) for server, moment in seen.servers.items() if moment is not None)
    # A log without a year beside one with it: nobody can say which was first.
    alike = len({known for (_, known), _ in times}) == 1
    since, first = times[0] if times and alike else (None, "")
    listed = [name for _, name in times] + [names[one] for one, moment in seen.servers.items() if moment is None]
    kinds = {last[server].engine for server in seen.servers}
    return Affected(
        finding.id,
        finding.title,
        finding.severity,
        finding.role,
        len(seen.servers),
        sum(engines[one] for one in kinds),
        None if since is None else stamp(*since),
        first,
        stamp(*seen.until) if seen.until is not None and alike else None,
        listed[:NAMED],
    )


def _kinds(
    runs: Sequence[RunReport],
    of_run: Mapping[int, Server],
    last: Mapping[Server, RunReport],
    read: Mapping[int, Run],
) -> list[Kind]:
    lives = Counter(of_run.values())
    groups: dict[tuple[str, ...], list[Server]] = {}
    for server, run in last.items():
        groups.setdefault(_looks(run), []).append(server)
    every: dict[Server, list[Run]] = {}
    for one in runs:
        if one.id in of_run:
            every.setdefault(of_run[one.id], []).append(read[one.id])
    made = []
    for looks, servers in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        own = [run for server in servers for run in every[server] if run.started is not None]
        first = min(own, key=lambda run: run.started or 0.0, default=None)
        final = max(own, key=lambda run: run.ended or 0.0, default=None)
        ends = Counter(last[server].end for server in servers)
        made.append(
            Kind(
                looks[0],
                looks[1],
                looks[2],
                looks[3],
                looks[4],
                len(servers),
                sum(lives[server] - 1 for server in servers),
                dict(sorted(ends.items(), key=lambda item: (-item[1], item[0]))),
                None if first is None else stamp(first.started, first.time_known),
                None if final is None else stamp(final.ended, final.time_known),
            )
        )
    return made


def _looks(run: RunReport) -> tuple[str, str, str, str, str]:
    sizes = [(name, run.facts.get(f"parallel.{name.lower()}")) for name in ("TP", "PP", "DP", "EP")]
    layout = " ".join(f"{name}{size}" for name, size in sizes if isinstance(size, int) and (size > 1 or name == "TP"))
    model, gpu = (str(run.facts.get(name) or "") for name in ("model.name", "gpu.name"))
    return run.engine, run.engine_version, model, gpu, layout


def _apart(odd: Sequence[Odd], servers: int) -> list[Apart]:
    """Put together what stands out in the same respect, on the same side of the others."""
    groups: dict[tuple[str, str, bool], list[Odd]] = {}
    for one in odd:
        higher = isinstance(one.value, int | float) and isinstance(one.others, int | float) and one.value > one.others
        groups.setdefault((one.kind, one.name, higher), []).append(one)
    made = []
    for found in groups.values():
        first = found[0]
        values = list(dict.fromkeys(one.value for one in found))
        names = shortened([one.who for one in found])[:NAMED]
        made.append(
            Apart(
                first.kind, first.name, first.title, first.unit, len({one.who for one in found}),
                min(servers, first.peers + 1), values[:NAMED], first.others, names,
            )
        )  # fmt: skip
    return sorted(made, key=lambda one: (one.kind != "configuration", one.kind != "figure", one.servers, one.name))
