"""The last lines of a container that Kubernetes keeps in its status: records like those of the log they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnoser.formats.records import RecordReader
from diagnoser.model import Line, Record
from diagnoser.tables.table import Origin
from diagnoser.traces._kube_words import QUOTED, Sayings
from diagnoser.values import replace

#: The kubelet keeps 2,048 bytes or 80 lines with ``terminationMessagePolicy: FallbackToLogsOnError``, 4,096 of a file.
LONGEST = 8_192
_KINDS = ("message", "raw", "traceback")


def last_words(message: Any, line: int, time: float | None, out: Sayings) -> Iterator[Record]:
    """Yield what the server said at its end; request lines quote their users and statistics are no message."""
    if not isinstance(message, str) or not message.strip():
        return
    reader = RecordReader()
    lines = [Line(out.source, line, one, None, out.stream, "") for one in message[-LONGEST:].split("\n")]
    reader.foresee(lines)
    records = [record for one in lines for record in reader.feed(one)]
    for record in (*records, *reader.flush()):
        if record.kind in _KINDS:
            yield replace(
                record,
                origin=Origin(out.source, line),
                dialect=QUOTED,
                time=time,
                time_known="" if time is None else "full",
                where="end",
                stream=out.stream,
                last_line=line,
            )
