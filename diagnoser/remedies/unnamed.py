"""Advice for a log that does not say which engine wrote it: in words, with each engine's name beside its flag."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.contracts.findings import Advice
from diagnoser.knowledge.vocabulary import TITLES
from diagnoser.language import Say, phrase
from diagnoser.remedies.context import Context
from diagnoser.rules.model import Remedy

_VERBS = {
    "raise": (phrase("Raise {knob}: {flags}"), phrase("Raise: {flags}")),
    "lower": (phrase("Lower {knob}: {flags}"), phrase("Lower: {flags}")),
    "set": (phrase("Set {knob}: {flags}"), phrase("Set: {flags}")),
    "remove": (phrase("Remove {knob}: {flags}"), phrase("Remove: {flags}")),
}


def without_engine(remedy: Remedy, context: Context, text: str, tradeoff: str) -> Advice | None:
    """Return an action such as "Lower running requests at once: --max-num-seqs (vLLM), …"; None without any flag."""
    names = list(_names(remedy, context))
    if not names:
        return None
    knob = context.vocabulary.knobs.get(remedy.knob)
    of_knob, alone = _VERBS.get(remedy.by, _VERBS["set"])
    flags = ", ".join(names)
    said = context.say(of_knob).format(knob=knob.title, flags=flags) if knob else context.say(alone).format(flags=flags)
    return Advice(None, None, said, None, None, text, tradeoff)


def _names(remedy: Remedy, context: Context) -> Iterator[str]:
    """Yield "--flag (Engine)" for each engine the remedy is for and whose newest version has it."""
    knob = context.vocabulary.knobs.get(remedy.knob)
    flags = dict(knob.flags) if knob else {engine: (name,) for engine, name in remedy.flag}
    for engine, names in flags.items():
        spelling = context.catalog.spelling(engine, names, None)
        if spelling is not None and (not remedy.engines or engine in remedy.engines):
            range_ = f" {said_range(spelling.versions, context.say)}" if spelling.versions else ""
            yield f"{spelling.flag} ({TITLES.get(engine, engine)}{range_})"
    for engine, name in remedy.env:
        if not remedy.engines or engine in remedy.engines:
            yield f"{name} ({TITLES.get(engine, engine)})"


def said_range(versions: str, say: Say) -> str:
    """Say a range of versions, which comes as "up to 0.10.2", "0.9.0 to 0.12.0" or "0.5.20+"."""
    first, to, last = versions.partition(" to ")
    if not to:
        return versions
    return (
        say("up to {last}").format(last=last)
        if first == "up"
        else say("{first} to {last}").format(first=first, last=last)
    )
