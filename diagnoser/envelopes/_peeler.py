"""Raw numbered lines in, the server's own lines out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from diagnoser.envelopes._ansi import strip_codes, strip_lost
from diagnoser.envelopes._join import MAX_JOINED, Joiner, Unfinished
from diagnoser.envelopes._pasted import head_of, without
from diagnoser.envelopes._peeled import Peeled
from diagnoser.envelopes._pieces import split
from diagnoser.envelopes._registry import by_first, restored
from diagnoser.envelopes._shapes import RECORD_START
from diagnoser.language import Sentence
from diagnoser.model import Line, Problem

#: Envelopes inside one another: docker's JSON in a journal, behind a compose prefix, with times.
MAX_LEVELS = 4
#: Weak streams that are remembered.
_MAX_KNOWN = 4096
#: Lines at the start of an input that are looked at for weak streams before any of them is peeled, and their size.
_AHEAD = 128
_AHEAD_BYTES = 4 << 20


class Peeler:
    """Peels the envelopes off the lines of one source; each line is judged by itself, so mixed input is fine.

    ``seen`` counts physical lines by envelope ("bare", "cri", "kubectl --prefix --timestamps", ...), ``repairs``
    counts lines by what was undone ("colours", "colours without ESC", "carriage returns", "joined pieces").
    """

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self._heads = by_first()
        self._joiner = Joiner()
        self._known: set[str] = set()
        #: What each line of a paste stands behind.
        self.pasted = b""
        self._titles: dict[tuple[str, ...], str] = {(): "bare"}

    def lines(self, raw: Iterable[tuple[Any, Any, Any]], begun: bool = False) -> Iterator[Any]:
        """Yield the lines inside ``raw`` (source name, line number, bytes); lines in pieces come when complete.

        A gap between lines, which is a triple too, has its lines counted and is handed on. ``begun``: these are lines
        from the middle of an input, of which none is looked at beforehand.
        """
        first = self._heads.get
        seen = self.seen
        source = ""
        for source, number, data in raw if begun else self._foreseen(iter(raw)):
            if data.__class__ is not bytes:
                gap: Any = source
                seen.update(gap.envelopes)
                yield gap, number, data
                continue
            text = data.decode("utf-8", "replace")
            heads = first(text[:1])
            # The hot path: nearly every line of a bare log needs these looks and nothing else.
            if "\x1b" in text or "\0" in text or "\r" in text:
                yield from self._peel(source, number, self._clean(text))
            elif (heads and heads.match(text)) or "|" in text:
                yield from self._peel(source, number, text)
            else:
                seen["bare"] += 1
                yield Line(source, number, text, None, "", "bare")
        yield from self._ended()
        if self._joiner.cuts:
            problem = Sentence(
                "{cuts} joined lines were longer than {most} characters and were cut",
                cuts=self._joiner.cuts,
                most=MAX_JOINED,
            )
            self.problems.append(Problem(source, None, problem))

    def bare(self, text: str) -> bool:
        """Whether a line has no envelope and nothing to be undone: it would be handed on as it is."""
        heads = self._heads.get(text[:1])
        hidden = "\x1b" in text or "\0" in text or "\r" in text or "|" in text
        return not hidden and (heads is None or heads.match(text) is None)

    @property
    def quiet(self) -> bool:
        """Whether no line waits for its other pieces."""
        return not self._joiner

    def _foreseen(self, raw: Iterator[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, bytes]]:
        """Learn weak streams from the first lines: a server's first words may be too plain to vouch for them."""
        ahead: list[tuple[str, int, bytes]] = []
        room = _AHEAD_BYTES
        while len(ahead) < _AHEAD and room > 0 and (one := next(raw, None)):
            ahead.append(self._whole(one) if not ahead else one)
            room -= len(one[2])
        self.pasted = head_of([data for _, _, data in ahead])
        if self.pasted:
            ahead, raw = list(without(self.pasted, ahead)), without(self.pasted, raw)
        for _, _, data in ahead:
            text = strip_lost(strip_codes(data.decode("utf-8", "replace")))
            heads = self._heads.get(text[:1])
            found = heads.owner(text) if heads else None
            peeled = None if found is None or isinstance(found, str) else found.peel(text)
            if peeled is not None and peeled.weak:
                self._trust(peeled, found)
        return chain(ahead, raw)

    def _whole(self, first: tuple[str, int, bytes]) -> tuple[str, int, bytes]:
        """Give the first line its envelope back where the file lost it: what is in it may go on in the next line."""
        source, number, data = first
        whole = restored(data.decode("utf-8", "replace")) if data.__class__ is bytes else None
        return first if whole is None else (source, number, whole.encode())

    def _ended(self) -> Iterator[Line]:
        """Yield what never ended: the last word of a process.

        In an envelope that this input has not got it is what somebody quotes, and here, at the end of the log, it would
        be read as the server's.
        """
        usual = max(self.seen, key=self.seen.__getitem__, default="")
        for held in self._joiner.flush():
            if self._title(held.names) == usual:
                yield from self._resume(held)
            else:
                text = Sentence(
                    "the piece of a line that never ends has another envelope than most lines; it was left out"
                )
                self.problems.append(Problem(held.source, held.number, text))

    def _resume(self, held: Unfinished) -> list[Line]:
        """Go on with a joined line, which may hold further envelopes; ``seen`` has counted its lines."""
        return self._peel(held.source, held.number, self._clean(held.text()), held)

    def _peel(self, source: str, number: int, text: str, held: Unfinished | None = None) -> list[Line]:
        """Peel level by level; ``held`` is what a joined line was wrapped in."""
        names, stream, time = (held.names, held.stream, held.time) if held else ((), "", None)
        undated = None
        strips = 0
        while len(names) < MAX_LEVELS:
            heads = self._heads.get(text[:1])
            found = heads.owner(text) if heads else None
            if found is None:
                break
            if isinstance(found, str):
                strips += 1
                if strips > MAX_LEVELS:
                    break
                text = strip_lost(text)
                self.repairs["colours without ESC"] += 1
                continue
            # No envelope stands inside itself.
            peeled = None if found.NAME in names else found.peel(text)
            if peeled is None or (peeled.weak and not self._trust(peeled, found)):
                break
            names = (*names, found.NAME)
            text = peeled.text
            if peeled.drop:
                self.seen[self._title(names)] += 1
                return []
            if peeled.time is not None:
                time = peeled.time
            undated = peeled.undated or undated
            if peeled.stream:
                stream = f"{stream}/{peeled.stream}" if stream else peeled.stream
            if peeled.key is not None:
                key = f"{stream}\n{peeled.key}"
                if peeled.partial or key in self._joiner:
                    self.seen[self._title(names)] += held is None
                    self.repairs["joined pieces"] += 1
                    fresh = Unfinished(source, number, time, stream, names)
                    whole = self._joiner.add(key, text, peeled.partial, fresh)
                    return [line for each in whole for line in self._resume(each)]
            if "\x1b" in text or "\0" in text or "\r" in text:
                text = self._clean(text)
        title = self._titles.get(names) or self._title(names)
        if held is None:
            self.seen[title] += 1
        if "\r" in text or "|" in text or "\n" in text:
            return [Line(source, number, piece, time, stream, title, undated) for piece in split(text)]
        return [Line(source, number, text, time, stream, title, undated)]

    def _trust(self, peeled: Peeled, found: Any) -> bool:
        """Believe a weak envelope by the text inside it, or by its stream once that text was seen."""
        stream = peeled.stream or f"\0{found.NAME}"
        if stream in self._known:
            return True
        if not RECORD_START.match(strip_lost(strip_codes(peeled.text))):
            return False
        if len(self._known) < _MAX_KNOWN:
            self._known.add(stream)
        return True

    def _clean(self, text: str) -> str:
        """Take terminal codes, NULs and the carriage return of CRLF away."""
        if "\x1b" in text:
            text = strip_codes(text)
            self.repairs["colours"] += 1
        if "\0" in text:
            text = text.replace("\0", "")
        if text.endswith("\r"):
            text = text.rstrip("\r")
            self.repairs["carriage returns"] += 1
        return text

    def _title(self, names: tuple[str, ...]) -> str:
        """Join envelope names; options of one command share its name."""
        title = self._titles.get(names)
        if title is None:
            title = names[0]
            for name in names[1:]:
                word, _, rest = name.partition(" ")
                title += f" {rest}" if rest.startswith("--") and title.startswith(word + " ") else f" + {name}"
            self._titles[names] = title
        return title
