"""Envelopes of an input that goes on: lines are peeled one by one as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from diagnoser.envelopes._join import MAX_JOINED
from diagnoser.envelopes._peeler import Peeler
from diagnoser.language import Sentence
from diagnoser.model import Line, Problem


class OngoingPeeler(Peeler):
    """A peeler that is fed. Pieces of a line wait for the rest of it, however long that takes."""

    def foresee(self, raw: Sequence[tuple[str, int, bytes]]) -> None:
        """Learn what a paste stands behind and weak streams from the first lines, before they are fed."""
        deque(self._foreseen(iter(raw)), maxlen=0)

    def feed(self, source: str, number: int, data: bytes) -> list[Line]:
        """Take one raw line; return the lines that are complete now."""
        text = data.removeprefix(self.pasted).decode("utf-8", "replace")
        if "\x1b" in text or "\0" in text or "\r" in text:
            return self._peel(source, number, self._clean(text))
        heads = self._heads.get(text[:1])
        if (heads and heads.match(text)) or "|" in text:
            return self._peel(source, number, text)
        self.seen["bare"] += 1
        return [Line(source, number, text, None, "", "bare")]

    def flush(self) -> list[Line]:
        """Return what never ended, at the end of the input."""
        lines = list(self._ended())
        if self._joiner.cuts:
            text = Sentence(
                "{cuts} joined lines were longer than {most} characters and were cut",
                cuts=self._joiner.cuts,
                most=MAX_JOINED,
            )
            self.problems.append(Problem("", None, text))
        return lines
