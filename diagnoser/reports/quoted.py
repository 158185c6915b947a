"""What clients and models wrote, as log lines quote it: prompts, answers, request bodies, tokens. Its length is kept.

A value counts as quoted content by the key before it (``prompt: '...'``, ``"messages": [...]``, ``text="..."``); it
ends where its quote or bracket ends, and with the text where that was cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.patterns import lazily

_KEY = lazily(
    r"""(?i)(?<![A-Za-z0-9])(?P<key>(?:prompts?|texts?|input_text|input_value|inputs?|contents?|messages|query|queries"""
    r"""|documents|outputs?|output_text|(?:generated|response|completion)_text|completions?|(?:request_|raw_)?body"""
    r"""|(?<=['"])arguments|(?:(?:origin_)?input|(?:output_|prompt_|all_)?token|output)_ids|system_prompt|reasoning"""
    r"""|delta_text)\\*['"]?\s*[=:]\s*(?:array\(['"]\w['"],\s*)?)"""
    r"""(?P<open>[bfru]{0,2}(?:\"{3}|'{3}|\\*['"])|[\[{])"""
)
#: SGLang prints the user's text between quotes as it is: only the last quote before another field ends it.
_RAW = lazily(r"\b(?:Receive|Finish): |(?:GenerateReqInput|EmbeddingReqInput|ReqInput)\(")
_RAW_END = lazily(r"['\"\]}](?=, ?'?\w+'?[=:]|[)}]+\s*\Z)")
_HIDDEN = lazily(r"<[\d,]+ characters?>\Z")
_TRIPLE = ('"' * 3, "'" * 3)
_PAIRS = {"[": "]", "{": "}"}


def names_content(key: str) -> bool:
    """Whether a value of this name is what somebody wrote or a model answered."""
    found = _KEY.match(f"{key}='")
    return found is not None and found.end() == len(key) + 2


def hidden(text: str) -> str:
    """Return what stands in the place of a content: its length."""
    return text if _HIDDEN.match(text) else f"<{len(text):,} character{'' if len(text) == 1 else 's'}>"


def hide(text: str) -> str:
    """Return the text with every quoted content replaced by its length."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    at = 0
    raw = _RAW.search(text)
    while found := _KEY.search(text, at):
        opening = found["open"]
        start = found.end()
        yield text[at:start]
        closing = _PAIRS.get(opening, opening[-1])
        if raw is not None and raw.start() < start:
            end = _raw_end(text, start, closing)
        elif opening in _PAIRS:
            end = _bracket(text, start, closing)
        elif opening[-3:] in _TRIPLE:
            end = text.find(opening[-3:], start)
            end = len(text) if end < 0 else end
        else:
            end = _quote(text, start, opening[-1], opening.count("\\"))
        yield hidden(text[start:end]) if end > start else ""
        at = end
    yield text[at:]


def _quote(text: str, start: int, quote: str, level: int) -> int:
    """Return where a quoted text ends; ``level`` backslashes stood before its opening quote."""
    at = start
    while (at := text.find(quote, at)) >= 0:
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        count = at - before
        if count % 2 == 0 if level == 0 else count <= level:
            return before if level else at
        at += 1
    return len(text)


def _raw_end(text: str, start: int, closing: str) -> int:
    if not text.rstrip().endswith((")", "}")):
        # Cut off: what looks like an end may be the user's.
        return len(text)
    ends = [found.start() for found in _RAW_END.finditer(text, start) if text[found.start()] == closing]
    return ends[-1] if ends else len(text)


def _bracket(text: str, start: int, closing: str) -> int:
    """Return where a list or an object ends: brackets inside quotes do not count."""
    depth, at = 1, start
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _quote(text, at + 1, char, 0)
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
            if not depth:
                return at
        at += 1
    return len(text)
