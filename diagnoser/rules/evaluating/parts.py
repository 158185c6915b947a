"""The values of one sample expression: which rows of which ranks it was computed from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any

from diagnoser.language import phrase
from diagnoser.rules.evaluating.rows import LOAD, Rows
from diagnoser.rules.evaluating.value import Answer, unknown
from diagnoser.rules.evaluating.vector import NAN, Piece, Undecided, compile_rows
from diagnoser.rules.model import Node
from diagnoser.tables.table import MEDIA
from diagnoser.values import dataclass

#: Rows with which a medium is believed before a later one of MEDIA.
FEW = 3

#: What would decide an aggregate when nothing ran at all.
UNDER_LOAD = phrase("samples under load")


@dataclass(slots=True, frozen=True)
class Part:
    """The rows of one table that count, in order. ``index`` are row numbers, ``values`` what S or C is in each."""

    rows: Rows
    index: Sequence[int]
    values: Sequence[Any]
    second: list[float] | None = None
    #: Series that the values were made of, for proofs.
    named: tuple[str, ...] = ()

    @property
    def times(self) -> Sequence[float]:
        """Times of the rows, NaN where unknown."""
        return _take(self.rows.table.time, self.index)

    @property
    def weights(self) -> Sequence[float]:
        """Seconds each row stands for (lines, in a log without times)."""
        return _take(self.rows.weights, self.index)

    @property
    def lines(self) -> Sequence[float]:
        """Statistics lines each row stands for."""
        return _take(self.rows.table.weight, self.index)


def _take(column: array[float], index: Sequence[int]) -> Sequence[float]:
    if len(index) == len(column):
        return column
    return itemgetter(*index)(column) if len(index) > 1 else [column[row] for row in index]


@dataclass(slots=True, frozen=True)
class Pieces:
    """A compiled aggregate: what it computes and which rows it wants."""

    subject: Piece
    second: Piece | None
    condition: Piece | None
    overall: bool
    text: str

    @property
    def all(self) -> list[Piece]:
        """The pieces there are."""
        return [piece for piece in (self.subject, self.second, self.condition) if piece is not None]

    @property
    def series(self) -> frozenset[str]:
        """Series that a row must have."""
        return frozenset().union(*(piece.series for piece in self.all))

    @property
    def optional(self) -> frozenset[str]:
        """Series that are used where present."""
        return frozenset().union(*(piece.optional for piece in self.all))


def compile_aggregate(node: Node, scalar: Callable[[Node], Answer]) -> Pieces:
    """Compile an ``aggregate`` node. Raises Undecided when a fact or argument in it is unknown."""
    name, subject, second, condition, overall, _ = node.args
    return Pieces(
        compile_rows(subject, scalar),
        None if second is None else compile_rows(second, scalar),
        None if condition is None else compile_rows(condition, scalar),
        # A silence is measured up to the next row, idle or not.
        overall or name in ("gap", "groups"),
        "" if condition is None else condition.text,
    )


def gather(pieces: Pieces, tables: Iterable[Rows], missing: Callable[[frozenset[str]], str]) -> list[Part]:
    """Compute an aggregate's values, one part for each table that has any.

    Raises Undecided when there are none; ``missing`` names the input that would have the series.
    """
    series, optional = pieces.series, pieces.optional
    parts, seen = [], False
    # An expression whose every series is optional is about ranks that print statistics at all.
    wanted = frozenset(optional | set(LOAD)) if not series else frozenset()
    for rows in preferred(tables, series, wanted):
        everything = rows.select(series, overall=True)
        if not len(rows.table) or (everything is not None and 1 not in everything):
            continue
        seen = True
        part = _part(pieces, rows, rows.select(series, pieces.overall))
        if part.values:
            parts.append(part)
    if parts:
        return parts
    if not seen:
        raise Undecided(unknown(missing(series or optional)))
    raise Undecided(unknown(f"samples while {pieces.text}" if pieces.text else UNDER_LOAD))


def preferred(tables: Iterable[Rows], series: frozenset[str], wanted: frozenset[str] = frozenset()) -> list[Rows]:
    """Return the tables that have every one of ``series`` (any of ``wanted``), all of one medium.

    What the log and the metrics page both tell must not count twice. The first medium of MEDIA with some rows to judge
    by is believed; where none has, the one with most rows.
    """
    by_medium: dict[str, list[Rows]] = {}
    for rows in tables:
        if rows.has(series) and (not wanted or any(name in rows.table.columns for name in wanted)):
            by_medium.setdefault(rows.table.medium, []).append(rows)
    if len(by_medium) < 2:
        return next(iter(by_medium.values()), [])
    sizes = {medium: max(len(rows.table) for rows in found) for medium, found in by_medium.items()}
    ordered = sorted(sizes, key=MEDIA.index)
    return by_medium[next((one for one in ordered if sizes[one] >= FEW), max(ordered, key=sizes.__getitem__))]


def _part(pieces: Pieces, rows: Rows, mask: bytes | None) -> Part:
    index: Sequence[int] = rows.indexes(mask)
    columns: dict[str, Sequence[float]] = {name: rows.column(name, mask) for name in pieces.series}
    for name in pieces.optional - pieces.series:
        present = name in rows.table.columns
        columns[name] = rows.column(name, mask) if present else [NAN] * len(index)
    made = pieces.subject.run(columns)
    values: Sequence[Any] = made if isinstance(made, array) else list(made)
    second = None if pieces.second is None else list(pieces.second.run(columns))
    keep: list[Any] | None = None
    if pieces.condition is not None:
        keep = [value is True for value in pieces.condition.run(columns)]
    for piece, computed in ((pieces.subject, values), (pieces.second, second)):
        if piece is not None and piece.partial and computed is not None:
            valid = [value is not None and value == value for value in computed]
            keep = valid if keep is None else [a and b for a, b in zip(keep, valid, strict=True)]
    if keep is not None and not all(keep):
        index = list(compress(index, keep))
        values = list(compress(values, keep))
        second = None if second is None else list(compress(second, keep))
    return Part(rows, index, values, second, tuple(sorted(pieces.series | pieces.optional)))
