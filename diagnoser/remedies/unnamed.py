"""Advice for a log that does not say which engine wrote it: in words, with each engine's name beside its flag."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.findings import Advice
from diagnoser.remedies.context import TITLES, Context
from diagnoser.rules.model import Remedy

_VERBS = {"raise": "raise", "lower": "lower", "set": "set", "remove": "remove"}


def without_engine(remedy: Remedy, context: Context, text: str, tradeoff: str) -> Advice | None:
    """Return an action such as "Lower running requests at once: --max-num-seqs (vLLM), …"; None without any flag."""
    names = list(_names(remedy, context))
    if not names:
        return None
    knob = context.vocabulary.knobs.get(remedy.knob)
    verb = _VERBS.get(remedy.by, "set").capitalize()
    what = f"{verb} {knob.title}" if knob else verb
    return Advice(None, None, f"{what}: {', '.join(names)}", None, None, text, tradeoff)


def _names(remedy: Remedy, context: Context) -> Iterator[str]:
    """Yield "--flag (Engine)" for each engine the remedy is for and whose newest version has it."""
    knob = context.vocabulary.knobs.get(remedy.knob)
    flags = dict(knob.flags) if knob else {engine: (name,) for engine, name in remedy.flag}
    for engine, names in flags.items():
        spelling = context.catalog.spelling(engine, names, None)
        if spelling is not None and (not remedy.engines or engine in remedy.engines):
            range_ = f" {spelling.versions}" if spelling.versions else ""
            yield f"{spelling.flag} ({TITLES.get(engine, engine)}{range_})"
    for engine, name in remedy.env:
        if not remedy.engines or engine in remedy.engines:
            yield f"{name} ({TITLES.get(engine, engine)})"
