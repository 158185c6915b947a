"""Whether an engine really prints what an event template looks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.records import Message, MessageTemplate
from diagnoser.knowledge.versions import parse_version
from diagnoser.knowledge.wording import (
    Gap,
    Token,
    literal_size,
    most_shared,
    one_word_gaps,
    rule_tokens,
    shared,
    source_tokens,
)
from diagnoser.values import dataclass

#: So much of a template's fixed text must stand in the wording; the rest may fall into the wording's placeholders,
#: which is where values that a template spells out ("in KVPoll.Bootstrapping") come from.
ENOUGH = 0.7
#: Less will do where each placeholder of the wording holds a single word ("RPC call to {method} timed out."), if so
#: many characters are fixed in both.
_ENOUGH_WITH_WORDS, _ENOUGH_FIXED = 0.4, 16
#: Shares that differ by less count as equal.
_SAME = 0.01
_WORD_LENGTH = 4
#: A part in brackets, which may hold brackets itself.
_BRACKETS = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")


@dataclass(slots=True, frozen=True)
class Grounding:
    """What the catalogue knows of a template.

    ``messages`` are ids, the best first; ``first`` and ``last`` span the versions of their wordings (``last`` None:
    the newest version read still prints it; both None when the wording comes from an engine that was not read).
    ``share`` is the part of the template's fixed characters found in the best wording, and ``nearest`` that wording,
    whether or not it is enough.
    """

    found: bool
    messages: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    share: float = 0.0
    nearest: str = ""


def ground(engine: str, text: str, catalog: Catalog) -> Grounding:
    """Look for the wordings of ``engine`` ("any": of all engines) that a template's line can come from.

    Wordings seen in recordings count as those read from sources. A template is grounded when a line can match both it
    and a wording, and at least 70 % of its fixed characters are fixed in the wording too, or 40 % and 16 characters
    when the rest are single words in the wording's placeholders.
    """
    ours = rule_tokens(text)
    size = literal_size(ours)
    if not size:
        return Grounding(False)
    index = catalog.memo(f"grounding {engine}", lambda: _Index(engine, catalog))
    bounds = [(max(most_shared(ours, known) for known in one.known) / size, one) for one in index.candidates(ours)]
    bounds.sort(key=lambda item: -item[0])
    best: list[tuple[float, _Wording]] = []
    top = 0.0
    for bound, wording in bounds:
        if bound < top - _SAME and (top >= ENOUGH or bound < _ENOUGH_WITH_WORDS):
            break
        share = max(shared(ours, tokens) for tokens in wording.forms) / size
        top = max(top, share)
        if share > 0:
            best.append((share, wording))
    if not best:
        return Grounding(False)
    best.sort(key=lambda item: (-item[0], item[1].message.id, item[1].template.text))
    near = best[0][1].template.text
    if top < ENOUGH:
        best = [(share, one) for share, one in best if _by_words(ours, one, share, size)]
        if not best:
            return Grounding(False, share=top, nearest=near)
        top, near = best[0][0], best[0][1].template.text
    # A wording that fits less well is another message, unless the best one is itself only close.
    fitting = [wording for share, wording in best if share >= top - _SAME]
    ids = tuple(dict.fromkeys(wording.message.id for wording in fitting))
    first = min((wording.template.first for wording in fitting), key=_order)
    lasts = [wording.template.last for wording in fitting]
    last = None if None in lasts else max((text for text in lasts if text), key=_order)
    return Grounding(True, ids, first, last, top, near)


def _by_words(ours: list[Token], wording: _Wording, share: float, size: int) -> bool:
    """Tell whether a wording fits that shares little, because its placeholders hold words that ``ours`` spells out."""
    if share < _ENOUGH_WITH_WORDS:
        return False
    return max(shared(ours, one_word_gaps(tokens)) for tokens in wording.forms) >= max(
        _ENOUGH_FIXED, _ENOUGH_WITH_WORDS * size
    )


@dataclass(slots=True, frozen=True)
class _Wording:
    message: Message
    template: MessageTemplate
    forms: tuple[list[Token], ...]
    known: tuple[frozenset[Token], ...]


class _Index:
    """Wordings of one engine by the words in them, so that a template is compared with few."""

    __slots__ = ("by_word", "wordings")

    def __init__(self, engine: str, catalog: Catalog) -> None:
        self.wordings: list[_Wording] = []
        self.by_word: dict[str, set[int]] = {}
        engines = catalog.engines() if engine == "any" else [engine]
        messages = [message for name in engines for message in catalog.messages(name)]
        messages += [one for one in catalog.seen_live() if engine == "any" or one.engine in (engine, "any")]
        for message in messages:
            for template in message.templates:
                forms = tuple(_forms(template))
                self._add(_Wording(message, template, forms, tuple(map(frozenset, forms))))

    def _add(self, wording: _Wording) -> None:
        number = len(self.wordings)
        self.wordings.append(wording)
        for tokens in wording.forms:
            for word in _words(tokens):
                self.by_word.setdefault(word, set()).add(number)

    def candidates(self, ours: list[Token]) -> Iterator[_Wording]:
        """Yield the wordings that hold at least half of a template's words; all when it has no words to go by."""
        words = _words(ours)
        if not words:
            yield from self.wordings
            return
        hits = Counter(number for word in words for number in self.by_word.get(word, ()))
        for number, count in sorted(hits.items()):
            if count * 2 >= len(words):
                yield self.wordings[number]


def _words(tokens: list[Token]) -> set[str]:
    return {token for token in tokens if not isinstance(token, Gap) and len(token) >= _WORD_LENGTH and token.isalnum()}


def _forms(template: MessageTemplate) -> Iterator[list[Token]]:
    """Yield a wording as it stands, with its optional parts printed, and without them.

    Some wordings mark optional parts by brackets alone, so brackets are tried as both.
    """
    text = template.text
    with_parts = without = text
    for part in template.optional:
        with_parts, without = with_parts.replace(part, part[1:-1]), without.replace(part, "")
    if not template.optional and "[" in text:
        with_parts, without = _BRACKETS.sub(r"\1", text), _BRACKETS.sub("", text)
    # Tracebacks print the class before the text; a template may ask for either.
    prefix = f"{template.exception}: " if template.exception else ""
    for form in dict.fromkeys((text, with_parts, without)):
        yield source_tokens(prefix + form)


def _order(text: str) -> tuple[int, ...]:
    version = parse_version(text)
    return (*version.release, version.post or 0) if version else ()
