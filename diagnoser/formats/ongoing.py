"""Records of an input that goes on: what has not grown for a while is complete, whatever comes later."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.formats.skipping import SkippingReader
from diagnoser.model import Record


class OngoingReader(SkippingReader):
    """A reader whose open records can be completed while others still grow. It knows no clock: lines are counted."""

    @property
    def count(self) -> int:
        """Lines that were fed or skipped so far."""
        return self._count

    @property
    def holding(self) -> bool:
        """Whether anything is held back."""
        return bool(self._pending) or any(stream.quote is not None for stream in self._streams.values())

    def settle(self, before: int) -> Sequence[Record]:
        """Complete what has not grown since ``before`` lines had been fed, and return it."""
        if before >= self._count:
            return self.flush()
        quoting = {id(one.quote.request) for one in self._streams.values() if one.quote is not None}
        for waiting in self._pending:
            if waiting.seen <= before and not waiting.closed and id(waiting) not in quoting:
                waiting.close()
        return self._release(())
