"""The ledger as a table: for a person, for a spreadsheet, for a ticket."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from diagnoser.commands._ledgerfile import Experiment
from diagnoser.comparing.session import COLUMNS, moved
from diagnoser.contracts.figurerows import exact
from diagnoser.reports import compared, layout
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.safe import line
from diagnoser.reports.safe import markdown as escaped
from diagnoser.reports.units import quantity, stretch

Table = tuple[list[str], list[list[str]]]

#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Of the row that comes first nothing changed.
_FIRST = "(first)"


def table(experiments: Sequence[Experiment]) -> Table:
    """Return the header and a row for each run; figures are followed by their change in % against the row before."""
    shown = [column for column in COLUMNS if any(column[0] in one.row.figures for one in experiments)]
    header = ["#", "run", "changed", *(heading for _, heading, _ in shown), "finding", "note"]
    rows = []
    for at, one in enumerate(experiments):
        before = experiments[at - 1] if at else None
        cells = [str(one.number), line(one.row.started or one.added), _changed(before, one)]
        for name, _, unit in shown:
            cells.append(_figure(name, unit, before, one))
        finding = f"{line(one.row.severity)} {line(one.row.finding)}".strip() or "none"
        rows.append([*cells, finding, line(one.note)])
    return header, rows


def _changed(before: Experiment | None, after: Experiment) -> str:
    if before is None:
        return _FIRST
    told = [
        f"{line(one.name)} {compared.value(one.before)} -> {compared.value(one.after)}"
        for one in moved(before.row, after.row)
    ]
    return "; ".join(told) or "nothing seen"


def _figure(name: str, unit: str, before: Experiment | None, after: Experiment) -> str:
    value = after.row.figures.get(name)
    if value is None:
        return ""
    least, most = after.row.bounds.get(name, [value, value])
    sure = least is None or exact(value, least, most)
    told = quantity(value, unit) if sure or least is None else stretch(least, most, unit)
    old = before.row.figures.get(name) if before is not None else None
    if not old or before is None:
        return told
    change = f"{(value - old) / abs(old) * 100:+,.0f} %"
    floor, ceiling = before.row.bounds.get(name, [old, old])
    if sure and (floor is None or exact(old, floor, ceiling)):
        return f"{told} ({change})"
    # Two ranges that meet may be one and the same figure.
    apart = _above(least, ceiling) or _above(floor, most)
    return f"{told} (about {change})" if apart else told


def _above(least: float | None, most: float | None) -> bool:
    return least is not None and most is not None and least >= most


def text(rows: Table, options: RenderOptions) -> str:
    """Write a block for each run: a table of so many columns does not fit a terminal."""
    header, runs = rows
    width = max(50, min(options.width, 160))
    out: list[str] = []
    for cells in runs:
        told = dict(zip(header, cells, strict=True))
        note = f"  {told['note']}" if told["note"] else ""
        out.append(layout.cut(f"{told['#']:>3}  {told['run']}{note}", width))
        out += [f"     {piece}" for piece in layout.wrap(f"changed: {told['changed']}", width - 5)]
        figures = [f"{name} {told[name]}" for name in header[3:-2] if told[name]]
        out += [f"     {piece}" for piece in layout.flow(figures, width - 5, "   ")]
        out += [f"     {piece}" for piece in layout.wrap(f"finding: {told['finding']}", width - 5)]
    return "\n".join(out or ["no runs yet"]) + "\n"


def csv_text(rows: Table) -> str:
    """Comma-separated, every cell plain text to a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    for cells in (rows[0], *rows[1]):
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return file.getvalue()


def markdown(rows: Table) -> str:
    """Return one table."""
    header, runs = rows
    lines = [header, ["---"] * len(header), *([escaped(cell) for cell in cells] for cells in runs)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
