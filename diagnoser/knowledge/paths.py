"""Where the rule base lies: beside the package in a checkout, inside it once installed."""

from __future__ import annotations

from pathlib import Path


def rules_dir() -> Path:
    """Return the folder of the rule base that belongs to this installation.

    An installed wheel carries it as ``diagnoser/_rules``; a checkout (and an editable install) has ``rules`` next to
    the package. Raises FileNotFoundError when neither is there.
    """
    package = Path(__file__).parent.parent
    # The inner one first: beside an installed package, a folder called "rules" belongs to somebody else.
    for folder in (package / "_rules", package.parent / "rules"):
        if (folder / "series.yaml").is_file():
            return folder
    raise FileNotFoundError(f"no rule base in {package / '_rules'} nor in {package.parent / 'rules'}")
