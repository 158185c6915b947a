"""Regular expressions that are compiled when they are first used.

A hundred and fifty shapes are known before the first line of a log is read, and one log has few of them. Compiling all
of them takes longer than reading a short log.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as lazily
else:

    class lazily:  # noqa: N801 - used like the function re.compile
        """What ``re.compile`` returns, made when one of its methods is first asked for."""

        def __init__(self, expression: str, flags: int = 0) -> None:
            self._said = (expression, flags)

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(*self._said), name)
            setattr(self, name, found)
            return found


__all__ = ["lazily"]
