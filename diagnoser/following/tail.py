"""One file followed by its name: growth, truncation, rotation by renaming, and waiting for a file that is not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from diagnoser.following.cutter import Cutter, Raw
from diagnoser.sources import InputError

#: Bytes of one read: the world is looked at between two.
BLOCK = 256 << 10
#: How often the name is looked up, and how long the old file is read on after it was renamed, seconds: a server writes
#: there until it is told to open the new one.
LOOK, GRACE = 0.5, 1.0

Tell = Callable[[str], None]


class Tail:
    """Follows a file like ``tail -F`` from its first byte. ``tell`` hears what happens to the file.

    Raises InputError, here and later, for what cannot be followed: a folder, no permission, compressed data. What was
    read once and cannot be any more is tried again.
    """

    def __init__(self, name: str, tell: Tell) -> None:
        self.name = name
        self.cutter = Cutter(name)
        #: Whether everything that was there was read once.
        self.caught_up = False
        #: Whether the last poll may have left something.
        self.behind = False
        self._path = Path(name)
        self._tell = tell
        self._file: BinaryIO | None = None
        self._identity = (0, 0)
        self._position = 0
        self._looked = -LOOK
        self._left: float | None = None
        self._waiting = False
        self._open()

    def poll(self, now: float) -> list[Raw]:
        """Return the lines that came since the last time; at most a block of them."""
        self.behind = False
        if self._file is None and not self._due(now, self._open):
            return []
        assert self._file is not None
        try:
            block = self._file.read(BLOCK)
        except OSError as error:  # a network file system may forget an open file; a folder says so when it is read
            if self._position == 0:
                raise InputError(f"cannot follow {self.name}: {error.strerror or error}") from None
            self._tell(f"{self.name}: {error.strerror or error}; it is opened anew")
            self.close()
            self.cutter.begin("opened anew")
            return []
        self._position += len(block)
        self.behind = len(block) == BLOCK
        if block:
            self.caught_up = self.caught_up or not self.behind
            return self.cutter.feed(block, now)
        self.caught_up = True
        why = ""

        def moved() -> bool:
            nonlocal why
            why = self._moved(now)
            return bool(why)

        if not self._due(now, moved):
            return []
        lines = self.cutter.rest(now, 0.0)  # the old content ends here, with or without a line break
        self.cutter.begin(why)
        self._left = None
        return lines

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _due(self, now: float, look: Callable[[], bool]) -> bool:
        if now - self._looked < LOOK:
            return False
        self._looked = now
        return look()

    def _open(self) -> bool:
        """Open what has the name now; False while there is nothing."""
        try:
            if self._path.is_dir():
                raise InputError(f"cannot follow {self.name}: it is a folder; name the files in it")
            file = self._path.open("rb", buffering=0)
        except FileNotFoundError:
            if not self._waiting:
                self._tell(f"waiting for {self.name}: there is no such file yet")
                self._waiting = True
            self.caught_up = True
            return False
        except OSError as error:
            if self._identity == (0, 0):
                raise InputError(f"cannot follow {self.name}: {error.strerror or error}") from None
            if not self._waiting:
                self._tell(f"{self.name} cannot be read ({error.strerror or error}); it is tried again")
                self._waiting = True
            return False
        if self._waiting:
            self._tell(f"{self.name} is there")
            self._waiting = False
        self._file = file
        status = os.fstat(file.fileno())
        self._identity, self._position = (status.st_dev, status.st_ino), 0
        return True

    def _moved(self, now: float) -> str:
        """Say why another content is to be read from its start, "" while there is none."""
        assert self._file is not None
        if os.fstat(self._file.fileno()).st_size < self._position:
            self._tell(f"{self.name} was truncated; it is read from its start")
            self._file.seek(0)
            self._position = 0
            return "truncated"
        try:
            status = self._path.stat()
        except OSError:  # between renaming and opening anew; what still comes to the old file is read
            return ""
        if (status.st_dev, status.st_ino) == self._identity:
            self._left = None
            return ""
        if self._left is None:
            self._left = now
        if now - self._left < GRACE:
            return ""
        self._tell(f"{self.name} was replaced; the new file is read from its start")
        self.close()
        self._looked = now - LOOK
        return "rotated"
