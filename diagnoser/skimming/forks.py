"""All known forms as one tree: lines that begin alike are compared once, and part where their texts do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from diagnoser.skimming.forms import NAME, Chunk, Form
from diagnoser.skimming.words import MOST_DIGITS, MOST_NAME, Words, clock, words_of

#: What the times of a line are told under, beside its numbers: its own, and its envelope's.
OWN, OUTER = -1, -2
#: What is told of some lines: of each number its values and digits, of each time its seconds since midnight.
Told = dict[int, tuple[Any, ...]]

_EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)


class Leaf(NamedTuple):
    """A form to look for: its ``place`` is given back; it is at the end of its line or ``open``; ``wanted`` numbers."""

    place: int
    form: Form
    wanted: frozenset[int]
    open: bool = False


class Hit(NamedTuple):
    """Lines of one form: where in them it ends, and what they tell."""

    place: int
    lines: Any
    at: Any
    told: Told


class Fork:
    """What may stand at one place of a line."""

    def __init__(self, leaves: Sequence[Leaf], date: tuple[int, int, int], depth: int = 0) -> None:
        parted: dict[Chunk, list[Leaf]] = {}
        for leaf in leaves:
            parted.setdefault(leaf.form.chunks[depth], []).append(leaf)
        # A text that begins like another is looked for before it.
        longest = sorted(parted, key=lambda chunk: -len(chunk.text))
        self._branches = [_Branch(chunk, parted[chunk], date, depth) for chunk in longest]
        self._apart = not any(one.begins(other) for one, other in combinations(self._branches[::-1], 2))
        self.words = max((len(one.words) for one in self._branches), default=0)

    @property
    def branches(self) -> list[_Branch]:
        """The texts in the order in which they are looked for: those that most lines had are first."""
        return sorted(self._branches, key=lambda branch: -branch.met) if self._apart else self._branches


class _Branch:
    """One text, and what may follow it: the end of the line, or a number and further texts."""

    def __init__(self, chunk: Chunk, leaves: Sequence[Leaf], date: tuple[int, int, int], depth: int) -> None:
        self.size = len(chunk.text)
        self.met = 0
        self.clocks = chunk.clocks
        masks = words_of(chunk.mask).tolist()
        texts = zip(words_of(chunk.on(date)).tolist(), masks, strict=True)
        self.words = [(np.uint64(text & mask), np.uint64(mask)) for text, mask in texts]
        last = depth + 1
        self.ends = [leaf for leaf in leaves if len(leaf.form.chunks) == last]
        further = [leaf for leaf in leaves if len(leaf.form.chunks) > last]
        # Texts that are the same up to here have as many numbers in them.
        self.number = further[0].form.numbers[depth] if further else NAME
        self.wanted = any(self.number in leaf.wanted for leaf in further)
        self.fork = Fork(further, date, last) if further else None

    def begins(self, other: _Branch) -> bool:
        """Whether a line with the text of another, which is no shorter, can have this one."""
        texts = zip(self.words, other.words, strict=False)
        return not any((text ^ longer) & mask & its for (text, mask), (longer, its) in texts)


class Walk:
    """Follows the tree through some lines, all at once."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def hits(
        self, fork: Fork, lines: Any, at: Any, told: Told | None = None, words: list[Any] | None = None
    ) -> Iterator[Hit]:
        """Yield the lines of each form among some, looked at from the places ``at`` on, where these words are."""
        told = told or {}
        if words is None:
            words = self._words.at(at, fork.words)
        for branch in fork.branches:
            if not len(lines):
                return
            fits, times = _fitting(branch, words)
            if fits is None or fits.all():
                mine, here, known = lines, at, told
                lines = lines[:0]
            else:
                chosen = np.flatnonzero(fits)
                if not len(chosen):
                    continue
                mine, here, known = lines[chosen], at[chosen], some(told, chosen)
                times = some(times, chosen)
                rest = np.flatnonzero(~fits)
                lines, at, told, words = lines[rest], at[rest], some(told, rest), [word[rest] for word in words]
            branch.met += len(mine)
            yield from self._behind(branch, mine, here + branch.size, known | times)

    def _behind(self, branch: _Branch, lines: Any, at: Any, told: Told) -> Iterator[Hit]:
        """Go on behind a text."""
        for leaf in branch.ends:
            if leaf.open:
                yield Hit(leaf.place, lines, at, told)
                continue
            over = at == self._words.ends[lines]
            chosen = slice(None) if over.all() else np.flatnonzero(over)
            yield Hit(leaf.place, lines[chosen], at[chosen], some(told, chosen))
        if branch.fork is None:
            return
        words = None
        if branch.number == NAME:
            sizes, most = self._words.names(at), MOST_NAME
        else:
            sizes, values, words = self._words.numbers(at, branch.wanted, branch.fork.words)
            most = MOST_DIGITS
            if branch.wanted:
                told = told | {branch.number: (values, sizes)}
        at = at + sizes
        fits = (sizes - 1).view(np.uint64) < most
        if not fits.all():
            chosen = np.flatnonzero(fits)
            lines, at, told = lines[chosen], at[chosen], some(told, chosen)
            words = None if words is None else [word[chosen] for word in words]
        yield from self.hits(branch.fork, lines, at, told, words)


def _fitting(branch: _Branch, words: list[Any]) -> tuple[Any, Told]:
    """Tell which rows of words begin with a branch's text (None: all, there is none), and the times in them."""
    if not branch.words:
        return None, {}
    wrong: Any = None
    for word, (text, mask) in zip(words, branch.words, strict=False):
        told = word ^ text if mask == _EVERY else (word & mask) ^ text
        if wrong is None:
            wrong = told
        else:
            wrong |= told
    fits, times = wrong == 0, {}
    for place, own in branch.clocks:
        second, valid = clock(words, place)
        fits &= valid
        times[OWN if own else OUTER] = (second,)
    return fits, times


def some(told: Told, chosen: Any) -> Told:
    """Return what is told of some of the lines."""
    return {key: tuple(one[chosen] for one in kept) for key, kept in told.items()}
