"""Sub-commands. This folder is the list: a module whose name has no leading underscore is a sub-command.

Each has ``HELP`` (one line) and ``main(arguments) -> exit code``, and ``_parser()``, from which completion and the
manual read its options. Modules with an underscore are what they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from diagnoser.listing import modules


class Command(Protocol):
    """What a sub-command module offers."""

    HELP: str

    def main(self, arguments: Sequence[str]) -> int:
        """Run with the arguments after the sub-command's name; return the exit code."""


def names() -> list[str]:
    """Return the sub-commands, without importing one."""
    return [name for name in modules(__path__) if not name.startswith("_")]


def load(name: str) -> Command:
    """Import one sub-command."""
    return cast(Command, import_module(f"{__name__}.{name}"))
