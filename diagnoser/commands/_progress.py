"""A sign of life on a terminal while a large input is read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from diagnoser.commands._terminal import is_terminal

#: Shorter work than this needs no sign of life.
_PATIENCE = 1.0
_BEAT = 0.5


class Progress:
    """While open, says on standard error that work goes on; leaves no trace. Silent unless a person watches."""

    def __init__(self, what: str, quiet: bool) -> None:
        self._what = what
        self._watched = not quiet and is_terminal(sys.stderr)
        self._stop: Callable[[], None] | None = None

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
        while True:
            text = f"{self._what}: {time.monotonic() - started:.0f} s"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            if done_within(_BEAT):
                print("\r" + " " * len(text) + "\r", end="", file=sys.stderr, flush=True)
                return
