"""Makes log text harmless to show: one line, no control over the terminal, the layout or the markup around it.

Whoever can send a request can write into a log. Everything that comes from a log passes through here before it is
shown, and secrets are masked on the way.
"""

from __future__ import annotations

import re
import unicodedata

from diagnoser.patterns import lazily
from diagnoser.reports.redact import mask

#: Invisible or line-breaking: controls, formats (bidi, zero width), surrogates, private use, separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
#: Blank glyphs that count as letters: Hangul fillers and the Braille blank.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
#: Marks over one letter that a language needs; a thousand of them paint over the lines above.
_MAX_MARKS = 2
#: In JSON these stay data, but must not reach a terminal raw.
_JSON_UNSAFE = lazily(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_MARKDOWN = lazily(r"([\\`*_\[\]<>#|~&$])")
#: What the runners of GitHub and Azure take for a command, also in a page that a job prints.
_COMMAND = lazily(r"^(?=\s*(?:::|##(?:\[|vso)))")
#: Only at the start of a line do these make a list, a heading or a rule.
_MARKDOWN_START = lazily(r"^(\s*)([-+=]|\d+(?=[.)]))")
_AUTOLINK = lazily(r"(?i)(?<=://)|(?<=\bwww\.)|(?<=@)")
_BACKTICKS = lazily("`+")


def line(text: str) -> str:
    """One harmless line: secrets masked, control characters as visible escapes, tabs and odd blanks as blanks."""
    text = mask(text)
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        if " " <= char <= "~":
            marks = 0
            out.append(char)
            continue
        category = unicodedata.category(char)
        if category[0] == "M":
            marks += 1
            if marks <= _MAX_MARKS:
                out.append(char)
            continue
        marks = 0
        if char == "\t" or category == "Zs":
            out.append(" ")
        elif category in _HIDDEN or char in _BLANK_LETTERS:
            out.append(escape(char))
        else:
            out.append(char)
    return "".join(out)


def escape(char: str) -> str:
    """Return the escape that a programmer would write for this character."""
    code = ord(char)
    if char in "\n\r":
        return "\\n" if char == "\n" else "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def lines(text: str) -> list[str]:
    """Split text that may hold newlines (a rule's meaning, a traceback) into harmless lines."""
    return [_COMMAND.sub("\u200b", line(part)) for part in text.splitlines()] or [""]


def markdown(text: str) -> str:
    """One line of prose for Markdown: no markup, no HTML, no link or mention can come out of it."""
    return _MARKDOWN_START.sub(_guard, _AUTOLINK.sub("\u200b", _MARKDOWN.sub(r"\\\1", line(text))))


def code(text: str) -> str:
    """Return a Markdown code span that its content cannot leave."""
    text = line(text).strip() or " "
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(texts: list[str], language: str = "text") -> str:
    """Return a fenced Markdown block of harmless lines; its fence is longer than any run of backticks in it."""
    body = [_COMMAND.sub("\u200b", line(text)) for text in texts]
    ticks = "`" * max(3, *(_longest(text) + 1 for text in body), 3)
    return "\n".join([f"{ticks}{language}", *body, ticks])


def json_text(text: str) -> str:
    """Escape in a JSON document what a terminal would obey; the data stays the same."""
    return _JSON_UNSAFE.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _guard(found: re.Match[str]) -> str:
    blank, start = found.groups()
    return f"{blank}\u200b{start}" if start[0].isdigit() else f"{blank}\\{start}"


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
