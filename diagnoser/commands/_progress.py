"""A sign of life on a terminal while a large input is read: how much, of how much, how fast."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from diagnoser.commands._terminal import is_terminal

if TYPE_CHECKING:
    from diagnoser.sources import Source

#: Shorter work than this needs no sign of life.
_PATIENCE = 1.0
_BEAT = 0.5
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Progress:
    """While open, says on standard error how far the work is; leaves no trace. Silent unless a person watches."""

    def __init__(self, what: str, quiet: bool) -> None:
        self._what = what
        self._watched = not quiet and is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._stop: Callable[[], None] | None = None
        self._sources: Sequence[Source] = ()
        self._sizes: list[int | None] | None = None
        self._opened = time.monotonic()

    def watch(self, sources: Sequence[Source]) -> None:
        """Hear which inputs are read from now on."""
        self._opened = time.monotonic()
        self._sources, self._sizes = sources, None

    def __enter__(self) -> Progress:
        if self._watched:
            from threading import Event, Thread  # in a pipeline nobody watches

            done = Event()
            thread = Thread(target=self._beat, args=(done.wait,), daemon=True)
            thread.start()

            def stop() -> None:
                done.set()
                thread.join()

            self._stop = stop
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stop is not None:
            self._stop()

    def _beat(self, done_within: Callable[[float], bool]) -> None:
        started = time.monotonic()
        if done_within(_PATIENCE):
            return
        width = 0
        while True:
            now = time.monotonic()
            text = f"{self._what}: {self.told(now - self._opened)}{now - started:.0f} s"
            print(f"\r{text.ljust(width)}", end="", file=sys.stderr, flush=True)
            width = len(text)
            if done_within(_BEAT):
                print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)
                return

    def told(self, seconds: float) -> str:
        """Return "1.2 of 3.4 GB, 45 MB/s, " after so many seconds of reading; "" before anything was read."""
        sources = self._sources
        read = sum(source.done for source in sources)
        if not read:
            return ""
        if self._sizes is None:
            self._sizes = [source.size() for source in sources]
        known = None not in self._sizes
        total = sum(size or 0 for size in self._sizes)
        if known and read >= total:
            return f"{_amount(total)} read, judging, "
        rate = f"{_amount(read / seconds)}/s, " if seconds > 0 else ""
        # Of one unit both numbers can be compared at a glance.
        return (f"{_amount(read, total)} of {_amount(total)}, " if known else f"{_amount(read)}, ") + rate


def _amount(count: float, like: float | None = None) -> str:
    """3.4 GB; without its unit when it is written beside ``like``."""
    size = count if like is None else like
    for scale, unit in _UNITS:
        if size >= scale or unit == "kB":
            value = count / scale
            text = f"{value:.0f}" if value >= 100 else f"{value:.1f}"
            return text if like is not None else f"{text} {unit}"
    raise AssertionError
