"""Cutting a configuration dump into its arguments, by quotes and brackets only.

Used to find where each value starts and ends; what a value means is the grammar's business. Tolerant on purpose: a log
may begin or end inside a dump, and an object's repr may hold any text.
"""

from __future__ import annotations

import re

from diagnoser.patterns import lazily
from diagnoser.values import dataclass

# A quote opens a string only where a value may start, so that an apostrophe in a bare word does not; an angle bracket
# only before a name ("a < b" and "->" are no brackets).
_TOKEN = lazily(
    r"""(?<=[=(\[{,:\s<])b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<=[=(\[{,:\s<])['"]|[()\[\]{},]"""
    r"""|(?<=[=(\[{,:\s<.])<(?=[A-Za-z_])|(?<![-=])>""",
    re.DOTALL,
)
_KEYWORD = lazily(r"\s*([A-Za-z_]\w*)=(?!=)")
_DICT_KEY = lazily(r"""\s*(?:'([^'\\\n]*)'|"([^"\\\n]*)")\s*:\s*""")
_CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(slots=True)
class Cut:
    """The arguments of a dump: (key, start of the key, start of the value, end of the value) in the text cut.

    ``end`` is where the dump ends; ``closed`` tells whether its closing bracket was seen, ``broken`` whether the text
    ends inside a string or bracket.
    """

    spans: list[tuple[str, int, int, int]]
    end: int
    closed: bool
    broken: bool


def cut(text: str, start: int, *, dictionary: bool, headless: bool = False) -> Cut:
    """Cut ``text`` from ``start`` (behind the opening bracket, if there is one) at its top-level commas.

    In keyword form a comma separates only when ``name=`` follows: a bare value may hold commas. ``headless``: the text
    begins somewhere inside a dump; what stands before the first whole argument is left out.
    """
    key_pattern = _DICT_KEY if dictionary else _KEYWORD
    pieces: list[tuple[int, int]] = []
    stack: list[str] = []
    begin, end, closed, broken = start, len(text), False, False
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == ",":
            if not stack and (dictionary or _KEYWORD.match(text, token.end())):
                pieces.append((begin, token.start()))
                begin = token.end()
        elif mark in "([{<":
            stack.append(mark)
        elif mark in ")]}>":
            opening = _CLOSING[mark]
            while stack and stack[-1] == "<" != opening:
                stack.pop()  # an angle bracket of free text
            if stack and stack[-1] == opening:
                stack.pop()
            elif mark == ">":
                continue
            elif headless and text[token.end() : token.end() + 1] == ",":
                pieces.clear()  # all so far stood inside a nested value whose beginning is lost
                stack.clear()
                begin = token.end() + 1
            else:
                end, closed = token.start(), True
                break
        elif mark in "'\"":
            broken = True  # a string without an end: the dump is cut off inside it
            break
    broken = broken or bool(stack)
    if not broken:
        pieces.append((begin, end))
    return Cut([span for piece in pieces if (span := _span(text, *piece, key_pattern))], end, closed, broken)


def _span(text: str, begin: int, end: int, key_pattern: re.Pattern[str]) -> tuple[str, int, int, int] | None:
    """Split one argument at its key; None when it has none (the rest of a lost argument, a trailing comma)."""
    key = key_pattern.match(text, begin, end)
    if key is None:
        return None
    while end > key.end() and text[end - 1] in " ,\t\r\n":
        end -= 1
    start = begin
    while text[start].isspace():
        start += 1
    return next(name for name in key.groups() if name is not None), start, key.end(), end
