"""A sign of life on a terminal while a large input is read."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from diagnoser.commands._terminal import is_terminal

#: Shorter work than this needs no sign of life.
_PATIENCE = 1.0
_BEAT = 0.5


class Progress:
    """While open, says on standard error that work goes on; leaves no trace. Silent unless a person watches."""

    def __init__(self, what: str, quiet: bool) -> None:
        self._what = what
        self._done = threading.Event()
        watched = not quiet and is_terminal(sys.stderr)
        self._thread = threading.Thread(target=self._beat, daemon=True) if watched else None

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        started = time.monotonic()
        if self._done.wait(_PATIENCE):
            return
        while True:
            text = f"{self._what}: {time.monotonic() - started:.0f} s"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            if self._done.wait(_BEAT):
                print("\r" + " " * len(text) + "\r", end="", file=sys.stderr, flush=True)
                return
