"""Words for what Kubernetes tells: one sentence a fact, which event templates of the writer ``kubernetes`` look for."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from diagnoser.model import Record
from diagnoser.observations import Claim
from diagnoser.tables.table import Origin
from diagnoser.traces._moments import moment
from diagnoser.values import dataclass, field

WRITER = "kubernetes"
#: Dialect of texts that somebody else wrote and Kubernetes passes on: any message may stand in them.
QUOTED = "pod"

#: Characters kept of a message that somebody else wrote.
MESSAGE = 600
_STRANGE = re.compile(r"[^\w.:@+-]")
_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{1,9})?(?:[eE]\d{1,2})?)(m|k|[KMGTP]i?)?")
_SCALE = {
    "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip


def name_of(value: Any) -> str:
    """Return a name as a name: one word of ordinary signs, at most as long as Kubernetes lets it be."""
    return _STRANGE.sub("?", value[:253]) if isinstance(value, str) else ""


def message_of(value: Any) -> str:
    """Return a message as one line of bounded length."""
    return " ".join(value[: 4 * MESSAGE].split())[:MESSAGE] if isinstance(value, str) else ""


def quantity(value: Any) -> float | None:
    """Read a quantity as Kubernetes writes it (``32Gi``, ``500m``, ``2``, ``1e9``); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    hit = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(hit[1]) * _SCALE[hit[2] or ""] if hit else None


def when(value: Any) -> float | None:
    """Return the moment of an API time (``2026-11-29T10:00:00Z``) or of kubectl's (``Sun, 29 Nov 2026 …+0000``)."""
    if not isinstance(value, str):
        return None
    if (found := moment(value[:64])) is not None:
        return found
    try:
        parsed: datetime = parsedate_to_datetime(value[:64])
        return parsed.timestamp() if parsed.year > 1970 else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def number(value: Any, default: int) -> int:
    """Return a whole number that is no nonsense for a count or for seconds, else the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else default


@dataclass(slots=True)
class Sayings:
    """What is said of one pod. ``stream`` is ``POD/CONTAINER``, as the envelopes of kubectl and stern name a writer."""

    source: str
    stream: str
    said: list[Record | Claim] = field(default_factory=list)

    def say(
        self, text: str, line: int, where: str, time: float | None = None, level: str = "WARNING", quoted: bool = False
    ) -> None:
        """Say a sentence, or pass on one that is ``quoted``.

        ``where`` it comes from: "state", "end" (of a container), "event" or "node".
        """
        self.said.append(
            Record(
                Origin(self.source, line),
                text,
                dialect=QUOTED if quoted else WRITER,
                level=level,
                time=time,
                time_known="" if time is None else "full",
                where=where,
                stream=self.stream,
                last_line=line,
            )
        )

    def claim(self, name: str, value: Any, line: int, excerpt: str, writer: str = WRITER) -> None:
        """Claim a fact under Kubernetes' name, or a flag under the engine's."""
        self.said.append(Claim(writer, name, value, Origin(self.source, line), excerpt[:300], self.stream))
