"""Which exceptions are answers to the user, and how they are put in words."""

from __future__ import annotations

#: Errors of other rooms that a user can mend, by name: to name the classes would load the rooms.
_EXPECTED = frozenset(
    {
        "CatalogError",
        "InferenceError",
        "InputError",
        "RuleBaseError",
        "SavedReportError",
        "UnknownFormatError",
        "UsageError",
        "VocabularyError",
        "YamlError",
    }
)


class CommandError(Exception):
    """Something the user can mend; the message says what, where and the nearest right word."""


def expected(error: BaseException) -> bool:
    """Whether the message alone is enough: the user's input or environment, not a defect of the program."""
    if isinstance(error, CommandError | OSError):
        return True
    return any(kind.__name__ in _EXPECTED and kind.__module__.startswith("diagnoser.") for kind in type(error).__mro__)


def message(error: BaseException) -> str:
    """Return the message for standard error; what it quotes from outside cannot command the terminal."""
    from diagnoser.reports.safe import lines

    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename is not None else ""
        text = f"{name}{error.strerror or error}"
    else:
        text = str(error) or type(error).__name__
    told = "\n".join(lines(text))
    if expected(error):
        return f"diagnose: error: {told}"
    return f"diagnose: internal error: {type(error).__name__}: {told}"
