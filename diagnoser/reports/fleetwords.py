"""What every report for people says of many servers: kinds, who shows a finding, who stands apart."""

from __future__ import annotations

from diagnoser.contracts.findings import Report
from diagnoser.contracts.fleetrows import Affected, Apart, Fleet, Kind
from diagnoser.language import ENGLISH, Say
from diagnoser.reports.compared import value
from diagnoser.reports.safe import line
from diagnoser.reports.summary import ENDS, ENGINES
from diagnoser.reports.units import clock, day, plural, quantity, span

#: Findings of a fleet that are told in full, as text; all of them stand in the table.
TOLD = 1
#: Kinds, findings and servers apart that are listed.
KINDS, FINDINGS, APART = 6, 14, 8


def heading(report: Report, say: Say = ENGLISH) -> str:
    """1,000 servers of 3 kinds, in 1,000 inputs."""
    assert report.fleet is not None
    return say("{servers} of {kinds}, in {inputs}").format(
        servers=plural(report.fleet.servers, "server", say=say),
        kinds=plural(len(report.fleet.kinds), "kind", say=say),
        inputs=plural(len(report.inputs), "input", say=say),
    )


def kind(one: Kind, say: Say = ENGLISH) -> str:
    """VLLM 0.9.2 · org/model · TP4 · 997 still serving at the end, 3 crashed · 12 restarts · when."""
    engine = ENGINES.get(one.engine, line(one.engine))
    version = line(one.engine_version) or say("version unknown")
    restarts = plural(one.restarts, "restart", say=say) if one.restarts else ""
    parts = [f"{engine} {version}", line(one.model), line(one.gpu), one.parallel, ending(one, say), restarts]
    return " · ".join(part for part in [*parts, span(one.started, one.ended)] if part)


def ending(one: Kind, say: Say = ENGLISH) -> str:
    """997 still serving at the end, 3 crashed."""
    ends = ((count, say(ENDS[end]) if end in ENDS else line(end)) for end, count in one.ends.items())
    return say(", ").join(say("{count} {ending}").format(count=f"{count:,}", ending=end) for count, end in ends)


def share(one: Affected, say: Say = ENGLISH) -> str:
    """12 of 1,000."""
    return say("{count} of {all}").format(count=f"{one.servers:,}", all=f"{one.of:,}")


def servers(one: Affected, say: Say = ENGLISH) -> str:
    """12 of 1,000 servers."""
    return say("{count} of {all} servers").format(count=f"{one.servers:,}", all=f"{one.of:,}")


def since(one: Affected, say: Say = ENGLISH) -> str:
    """Since 07-12 10:00:03, first llm-17; "" where the logs do not tell."""
    if one.since is None:
        return ""
    return say("since {time}").format(time=f"{day(one.since)} {clock(one.since)}".strip())


def first(one: Affected, say: Say = ENGLISH) -> str:
    """First llm-17; some names where nobody knows which was first; all where there are few."""
    if one.first and one.servers > 1:
        return say("first {name}").format(name=line(one.first))
    shown = one.names[:3] if one.servers <= len(one.names) else one.names[:1]
    return _and_more(shown, one.servers - len(shown), say)


def apart(fleet: Fleet, say: Say = ENGLISH) -> list[str]:
    """Say who stands apart by what; servers that do so in several respects once."""
    groups: dict[tuple[str, ...], list[Apart]] = {}
    for one in fleet.apart:
        groups.setdefault((str(one.servers), *one.names), []).append(one)
    said = []
    for found in groups.values():
        who = _and_more(found[0].names[:3], found[0].servers - 3, say)
        said.append(say.pair(who, say(", ").join(_respect(one, say) for one in found)))
    return said


def _and_more(names: list[str], more: int, say: Say) -> str:
    told = ", ".join(map(line, names))
    return say("{names} and {count} more").format(names=told, count=f"{more:,}") if more > 0 else told


def _respect(one: Apart, say: Say) -> str:
    if one.kind == "finding":
        return say("{name} (no peer)").format(name=line(one.name))
    if one.kind == "configuration":
        told = say("{name} {values} (all others {others})")
        values = ", ".join(value(each, say) for each in one.values)
        return told.format(name=line(one.name), values=values, others=value(one.others, say))
    unit = " tok/s" if one.unit == "tokens/s" else ""
    numbers = sorted(each for each in one.values if isinstance(each, int | float))
    ends = [quantity(each, one.unit, say) for each in (numbers[0], numbers[-1])] if numbers else ["-", "-"]
    others = quantity(one.others, one.unit, say) if isinstance(one.others, int | float) else value(one.others, say)
    own = ends[0] if ends[0] == ends[1] else say("{low} to {high}").format(low=ends[0], high=ends[1])
    told = say("{title} {value} (median of the others {others})")
    return told.format(title=line(one.title), value=own + unit, others=others + unit)
