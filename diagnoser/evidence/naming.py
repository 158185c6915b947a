"""Whose log this is: the engine itself says so, and until it does the first prefix."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.evidence.asked import Match
from diagnoser.evidence.lifetime import Lifetime
from diagnoser.knowledge.vocabulary import ENGINES
from diagnoser.model import Record

#: Roles of events that only the server itself prints, whoever else has its prefix.
_ITS_OWN = ("start", "ready")


def name(life: Lifetime, record: Record, matches: Sequence[Match], speaker: str) -> None:
    """Name the engine of a run by a record, ``speaker`` being whose prefix it has ("" for nobody's).

    A prefix may be a library's: SGLang to 0.4 imports vLLM, which greets before it; LMCache's looks like SGLang's. So
    it holds until a start, a sign of being ready or a statistics line tells (``Lifetime.sure``).
    """
    told = [(spec.role, template.engine) for spec, template, *_ in matches if template.engine in ENGINES]
    sure = next((engine for role, engine in told if role in _ITS_OWN), "")
    if record.kind == "stats" and not sure:
        sure = speaker
    life.sure = bool(sure)
    # Without a prefix a message that only one engine prints tells (a refused command line).
    life.run.engine = sure or life.run.engine or speaker or next((engine for _, engine in told), "")
