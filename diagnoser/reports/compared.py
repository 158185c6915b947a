"""What differs between two sides in words: the texts and cells that the pages for people share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from diagnoser.contracts.comparison import Comparison, Difference, FigureChange, Odd, Side
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports.safe import line
from diagnoser.reports.summary import ENGINES
from diagnoser.reports.units import amount, number, plural, quantity

#: A value of a flag may be a pasted file.
_VALUE = 60
#: Fewer resolved differences than this are told in full.
RESOLVED = 8


def verdict(comparison: Comparison, say: Say = ENGLISH) -> str:
    """Return the answer in one line, by which figure."""
    told = say(comparison.verdict)
    return say.pair(told, line(comparison.by)) if comparison.by else told


def side(one: Side, say: Say = ENGLISH) -> str:
    """Return what was compared of a side."""
    engine = f"{ENGINES.get(one.engine, line(one.engine)) or say('unknown engine')} {line(one.version)}".strip()
    if one.of != 1:
        runs = plural(one.of, "run", say=say)
        engine = say("{engine}, {count} of {runs}").format(engine=engine, count=one.runs, runs=runs)
    first = line(one.inputs[0]) if one.inputs else say("nothing")
    if len(one.inputs) > 1:
        first = say("{names} and {count} more").format(names=first, count=len(one.inputs) - 1)
    return say.pair(first, engine)


def value(told: Any, say: Say = ENGLISH) -> str:
    """Return a flag's value, bounded."""
    if told is None or told == "not set":
        return say("not set")
    text = line(f"{told:.6g}" if isinstance(told, float) else str(told))
    if text.endswith(" (not set)"):
        text = f"{text.removesuffix(' (not set)')} ({say('not set')})"
    return text if len(text) <= _VALUE else text[: _VALUE - 1] + "…"


def change(one: Difference, say: Say = ENGLISH) -> tuple[str, str, str]:
    """Return what differs, before and after."""
    return one.name, value(one.before, say), value(one.after, say)


def kinds(comparison: Comparison) -> Iterator[tuple[str, list[Difference]]]:
    """Yield the differences in configuration under a heading each."""
    for kind, title in (
        ("parameter", phrase("changed")),
        ("resolved", phrase("follows, or measured at start")),
        ("neutral", phrase("no matter")),
    ):
        found = [one for one in comparison.configuration if one.kind == kind]
        if found:
            yield title, found


def cells(one: FigureChange, say: Say = ENGLISH) -> tuple[str, str, str, str, str]:
    """Return title, before, after, change and what it means."""
    title = line(one.title) + {"tokens/s": " tok/s", "events/min": " /min"}.get(one.unit, "")
    before, after = (
        "-" if value is None else amount(value, limits, one.unit, say)
        for value, limits in zip((one.before, one.after), one.bounds, strict=True)
    )
    change = "" if one.change is None else f"{one.change * 100:+,.0f} %"
    return title, before, after, change, means(one, say)


def means(one: FigureChange, say: Say = ENGLISH) -> str:
    """Say whether a change is shown, and why not."""
    if one.state == "unknown":
        return say("cannot tell: {reason}").format(reason=line(one.reason))
    if one.state == "same":
        return say("identical") if one.reason == "identical" else say("no difference shown")
    return say("{change}, shown").format(change=say(one.means or one.state))


def untold(figures: Iterable[FigureChange]) -> Iterator[tuple[str, list[str]]]:
    """Yield why nothing can be told of some figures, and of which."""
    why: dict[str, list[str]] = {}
    for one in figures:
        if one.state == "unknown":
            why.setdefault(line(one.reason), []).append(line(one.title))
    yield from why.items()


def samples(one: FigureChange) -> str:
    """Return both sample sizes: 44 / 38, worth 20 / 17."""
    return " / ".join(f"{count:,}" for count in one.samples)


def stands_out(one: Odd, say: Say = ENGLISH) -> str:
    """Say in one sentence who stands out by what."""
    who, peers = line(one.who), plural(one.peers, "peer", say=say)
    if one.kind == "finding":
        told = say("{who}: {rule} ({title}), in none of its {peers}")
        return told.format(who=who, rule=line(one.name), title=line(one.title), peers=peers)
    if one.kind == "configuration":
        told = say("{who}: {name} {value}, {others} in all {peers}")
        return told.format(
            who=who, name=line(one.name), value=value(one.value, say), others=value(one.others, say), peers=peers
        )
    pair = [
        quantity(v, one.unit, say) if isinstance(v, int | float) else value(v, say) for v in (one.value, one.others)
    ]
    unit = " tok/s" if one.unit == "tokens/s" else ""
    told = say("{who}: {title} {value}, median of its {peers} {others}")
    own, others = pair[0] + unit, pair[1] + unit
    return told.format(who=who, title=line(one.title), value=own, peers=peers, others=others)


def seconds(told: float | None) -> str:
    """Return a phase of the start; seconds as they are, so that small changes show."""
    return "-" if told is None else f"{number(told)} s"
