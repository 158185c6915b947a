"""What is wrong with a rule base: every fault with its file, line and column, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RuleError(NamedTuple):
    """One fault; ``line`` and ``column`` are 1-based, ``text`` says what was expected."""

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.text}"


class RuleBaseError(Exception):
    """A rule base that cannot be used; ``errors`` in the order of files and lines."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        self.errors = tuple(sorted(set(errors)))
        super().__init__("\n".join(map(str, self.errors)))
