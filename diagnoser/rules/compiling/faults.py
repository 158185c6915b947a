"""Syntax errors in the words of a rule author: what lark reports, translated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnoser.rules.compiling.expression import ExpressionError

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

#: Terminal of the grammar -> how a person would say it.
_WORDS = {
    "NUMBER": "a number",
    "NAME": "a name",
    "STRING": "a text",
    "COMPARE": "a comparison",
    "SIGN": "+ or -",
    "TIMES": "* or /",
    "RPAR": "')'",
    "RSQB": "']'",
    "COMMA": "','",
    "$END": "the end",
}
#: What people write out of habit from other languages.
_HABITS = {
    "=": "==",
    "&": "and",
    "&&": "and",
    "|": "or",
    "||": "or",
    "!": "not",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "IN": "in",
    "is": "==",
    "per": "peak(EVENT, 1m)",
    "True": "true",
    "False": "false",
}


def explain_token(text: str, error: UnexpectedToken) -> ExpressionError:
    """Explain a word that cannot stand where it stands."""
    accepted = set(error.accepts or error.expected)
    expected = _expected(accepted)
    token = error.token
    if token.type == "$END":
        column = len(text.rstrip()) + 1
        return ExpressionError(f"the expression ends too early: expected {_either(expected)}", column, expected)
    column = int(token.start_pos or 0) + 1
    if token.type == "COMPARE" and "SIGN" in accepted and "NUMBER" not in accepted:
        message = "comparisons do not chain: write `a < b and b < c`"
        return ExpressionError(message, column, expected)
    if token.type in ("WHILE", "WHERE", "OVERALL"):
        message = f"'{token}' belongs directly inside the brackets of one function, such as p95(x while y > 1)"
        return ExpressionError(message, column, expected)
    return ExpressionError(f"expected {_either(expected)}, found '{token}'", column, expected, _HABITS.get(token, ""))


def explain_character(text: str, error: UnexpectedCharacters) -> ExpressionError:
    """Explain a character that begins no word of the language."""
    start = int(error.pos_in_stream or 0)
    found = text[start]
    column = start + 1
    if found in "\"'":
        return ExpressionError(f"this text is not closed with {found}", column, (found,))
    double = text[start : start + 2]
    nearest = _HABITS.get(double) or _HABITS.get(found, "")
    return ExpressionError(f"'{double if double in _HABITS else found}' means nothing here", column, (), nearest)


def _expected(terminals: set[str]) -> tuple[str, ...]:
    """Reduce a set of terminals to what helps: a value, or the closing words and operators."""
    if "NAME" in terminals:
        if "NUMBER" in terminals:
            closing = [_WORDS[name] for name in ("RPAR", "RSQB") if name in terminals]
            return ("a value", *closing)
        return ("a name",)
    closing = [_WORDS.get(name, f"'{name.lower()}'") for name in ("RPAR", "RSQB", "COMMA", "OF") if name in terminals]
    if "$END" in terminals:
        closing.append("the end")
    if {"TIMES", "SIGN", "AND"} & terminals:
        closing.append("an operator")
    return tuple(closing) or tuple(sorted(_WORDS.get(name, name.lower()) for name in terminals))


def _either(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
