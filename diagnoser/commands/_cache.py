"""Where compiled rules are kept between two calls."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NONE = "none"


def folder(asked: str | None) -> Path | None:
    """Return the folder asked for, the user's own cache folder by default, None for no cache."""
    asked = asked or os.environ.get("DIAGNOSE_CACHE_DIR")
    if asked:
        return None if asked == NONE else Path(asked)
    base = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "diagnoser"
    try:
        return Path.home() / ".cache" / "diagnoser"
    except RuntimeError:  # a container user without a home
        return None
