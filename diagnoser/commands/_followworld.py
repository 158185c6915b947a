"""What following needs of the machine: standard input that does not block, signals, and whether anybody still reads."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from diagnoser.following.cutter import Cutter, Raw

#: Bytes of one read, and reads that wait at most.
_BLOCK = 64 << 10
_WAITING = 32
#: After so many small reads in a row the reader sleeps before the next, seconds: a wake-up for each line costs more
#: than the line.
_SMALL_READS, _NAP = 3, 0.05

#: What ends following: Ctrl-C, and what service managers and Kubernetes send.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")


class Pipe:
    """Standard input or a named pipe, read by a thread of its own: on Windows nothing else can wait for it."""

    def __init__(self, name: str, stream: BinaryIO | Path) -> None:
        self.cutter = Cutter(name)
        #: Whether everything that was there was read once, and whether it has ended.
        self.caught_up = False
        self.ended = False
        #: Whether the last poll may have left something.
        self.behind = False
        self._begun = False
        self._stream = stream
        self._blocks: queue.Queue[bytes] = queue.Queue(_WAITING)
        # A thread that hangs in a read must not keep the program: it is a daemon and reads past Python's buffers.
        threading.Thread(target=self._read, daemon=True).start()

    def poll(self, now: float) -> list[Raw]:
        """Return the lines that came since the last time."""
        blocks: list[bytes] = []
        self.behind = True
        while len(blocks) < _WAITING:
            try:
                block = self._blocks.get_nowait()
            except queue.Empty:
                self.caught_up = self._begun
                self.behind = False
                break
            self._begun = True
            if not block:
                self.caught_up = self.ended = True
                self.behind = False
                break
            blocks.append(block)
        return self.cutter.feed(b"".join(blocks), now)

    def close(self) -> None:
        """Leave the thread to the end of the program: it may hang in a read."""

    def _read(self) -> None:
        small, block, descriptor = 0, b"-", -1
        try:
            # Opening a named pipe waits for a writer.
            stream = self._stream.open("rb") if isinstance(self._stream, Path) else self._stream
        except OSError:
            self._blocks.put(b"")
            return
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = stream.fileno()
        while block:
            try:
                block = os.read(descriptor, _BLOCK) if descriptor >= 0 else stream.read(_BLOCK)
            except (OSError, ValueError):
                block = b""
            self._blocks.put(block)
            small = small + 1 if len(block) < _BLOCK // 4 else 0
            if small > _SMALL_READS:
                time.sleep(_NAP)


class Stop:
    """While open, the first signal asks to stop and the second stops at once."""

    def __init__(self) -> None:
        #: The number of the signal that came, 0 for none.
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number


def nobody_reads() -> bool:
    """Whether the other end of standard output is closed, as far as this system tells before something is written."""
    if not hasattr(select, "poll"):
        return False
    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLNVAL) for _, events in poller.poll(0))
    except (OSError, ValueError, AttributeError):
        return False
