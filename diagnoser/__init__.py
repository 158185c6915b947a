"""Diagnose LLM inference servers from what they left behind."""

# Nothing is imported, not even __future__: it takes longer than all that is done here, and Ctrl-C would hit it before
# anybody listens.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from diagnoser.api import Options, Session, diagnose
    from diagnoser.contracts.comparison import Comparison
    from diagnoser.contracts.findings import Finding, Report
    from diagnoser.sides import compare

__all__ = ["Comparison", "Finding", "Options", "Report", "Session", "__version__", "compare", "diagnose"]

__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    """Import the API on first use: `diagnose --version` must not pay for it."""
    if name in ("Finding", "Report"):
        from diagnoser.contracts import findings

        return getattr(findings, name)
    if name in ("Options", "Session", "diagnose"):
        from diagnoser import api

        return getattr(api, name)
    if name == "Comparison":
        from diagnoser.contracts import comparison

        return comparison.Comparison
    if name == "compare":
        from diagnoser import sides

        return sides.compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
