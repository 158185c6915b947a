"""Every fixed phrase of the page passes through ``say``: the one place where another language can be put in.

Templates and modules call it with the English text, holes in braces: ``say("{count} runs").format(count=3)``. A table
keyed by that text is all that a translation needs. The phrases of templates and modules are literals, and found by
reading them; what comes from elsewhere is said too: severities, roles, states and names of stages and checks, and the
titles of charts and curves (``CHARTS`` in ``curves.py``, ``series.yaml``).
"""

from __future__ import annotations

#: The language of ``say``'s answers, for the page's ``lang``.
LANGUAGE = "en"


def say(text: str) -> str:
    """Return a fixed phrase in the reader's language."""
    return text
