"""Two sides as Markdown, for a pull request: headings, lists and tables; log text stands in code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnoser.comparison import Comparison, Odd
from diagnoser.reports import compared
from diagnoser.reports.safe import code, markdown


def render(comparison: Comparison) -> str:
    """Return the whole page, ending in a newline."""
    lead = [
        f"- **before**: {markdown(compared.side(comparison.before))}",
        f"- **after**: {markdown(compared.side(comparison.after))}",
        f"- **cause**: {markdown(comparison.attribution_text)}",
        f"- **load**: {markdown(comparison.load_text)}",
    ]
    head = f"## diagnose compare: {markdown(compared.verdict(comparison))}"
    return "\n\n".join([head, "\n".join(lead), *parts(comparison)]) + "\n"


def section(comparison: Comparison) -> Iterator[str]:
    """Write the part of the main report that says what differs from a good run."""
    yield f"### Against the baseline: {markdown(compared.verdict(comparison))}"
    yield f"{markdown(compared.side(comparison.before))}; {markdown(comparison.attribution_text)}"
    yield from parts(comparison)


def stand_out(odd: Sequence[Odd]) -> Iterator[str]:
    """Write the short list of ranks and replicas that differ from their peers; nothing for none."""
    if odd:
        yield "### Odd one out"
        yield "\n".join(f"- {markdown(compared.stands_out(one))}" for one in odd)


def parts(comparison: Comparison) -> Iterator[str]:
    """Each part where there is something to say."""
    rows = [
        f"| {_cell(one.name)} | {_cell(compared.value(one.before))} | {_cell(compared.value(one.after))} | {title} |"
        for title, found in compared.kinds(comparison)
        for one in found
    ]
    if rows:
        yield "\n".join(["| configuration | before | after | |", "|---|---|---|---|", *rows])
    figures = []
    for one in comparison.figures:
        title, before, after, change, means = compared.cells(one)
        row = " | ".join(map(markdown, (title, before, after, change, compared.samples(one), means)))
        figures.append(f"| {row} |")
    if figures:
        yield "\n".join(["| figure | before | after | change | samples | |", "|---|---:|---:|---:|---:|---|", *figures])
    if comparison.findings:
        yield "\n".join(
            f"- **{one.change}** {markdown(one.after or one.before or '')}: {markdown(one.title)} ({code(one.id)})"
            for one in comparison.findings
        )
    boot = [
        f"| {markdown(one.title)} | {compared.seconds(one.before)} | {compared.seconds(one.after)} |"
        for one in comparison.boot
    ]
    if boot:
        yield "\n".join(["| start (one a side) | before | after |", "|---|---:|---:|", *boot])
    if comparison.messages:
        said = [f"- {markdown(one.level)}, {one.count}: {code(one.text[:300])}" for one in comparison.messages]
        yield "\n".join(["New messages that no rule knows:", "", *said])


def _cell(text: str) -> str:
    """Replace bars: they end a cell of a table even inside code."""
    return code(text.replace("|", "¦"))
