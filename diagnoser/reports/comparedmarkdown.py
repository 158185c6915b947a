"""Two sides as Markdown, for a pull request: headings, lists and tables; log text stands in code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnoser.contracts.comparison import Comparison, Odd
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports import compared
from diagnoser.reports.safe import code, markdown


def render(comparison: Comparison, say: Say = ENGLISH) -> str:
    """Return the whole page, ending in a newline."""
    lead = [
        f"- **{say('before')}**: {markdown(compared.side(comparison.before, say))}",
        f"- **{say('after')}**: {markdown(compared.side(comparison.after, say))}",
        f"- **{say('cause')}**: {markdown(comparison.attribution_text)}",
        f"- **{say('load')}**: {markdown(comparison.load_text)}",
    ]
    head = f"## diagnose compare: {markdown(compared.verdict(comparison, say))}"
    return "\n\n".join([head, "\n".join(lead), *parts(comparison, say)]) + "\n"


def section(comparison: Comparison, say: Say = ENGLISH) -> Iterator[str]:
    """Write the part of the main report that says what differs from a good run."""
    yield f"### {say('Against the baseline')}: {markdown(compared.verdict(comparison, say))}"
    yield f"{markdown(compared.side(comparison.before, say))}; {markdown(comparison.attribution_text)}"
    yield from parts(comparison, say)


def stand_out(odd: Sequence[Odd], say: Say = ENGLISH) -> Iterator[str]:
    """Write the short list of ranks and replicas that differ from their peers; nothing for none."""
    if odd:
        yield f"### {say('Odd one out')}"
        yield "\n".join(f"- {markdown(compared.stands_out(one, say))}" for one in odd)


def parts(comparison: Comparison, say: Say = ENGLISH) -> Iterator[str]:
    """Each part where there is something to say."""
    rows = [
        f"| {' | '.join(_cell(text) for text in compared.change(one, say))} | {say(title)} |"
        for title, found in compared.kinds(comparison)
        for one in found
    ]
    if rows:
        head = f"| {say('configuration')} | {say('before')} | {say('after')} | |"
        yield "\n".join([head, "|---|---|---|---|", *rows])
    figures = []
    for one in comparison.figures:
        title, before, after, change, means = compared.cells(one, say)
        row = " | ".join(map(markdown, (title, before, after, change, compared.samples(one), means)))
        figures.append(f"| {row} |")
    if figures:
        names = map(say, (phrase("figure"), phrase("before"), phrase("after"), phrase("change"), phrase("samples")))
        yield "\n".join([f"| {' | '.join(names)} | |", "|---|---:|---:|---:|---:|---|", *figures])
    if comparison.findings:
        yield "\n".join(
            f"- **{say(one.change)}** {level}: {markdown(one.title)} ({code(one.id)})"
            for one in comparison.findings
            for level in [markdown(say(one.after or one.before or ""))]
        )
    boot = [
        f"| {markdown(one.title)} | {compared.seconds(one.before)} | {compared.seconds(one.after)} |"
        for one in comparison.boot
    ]
    if boot:
        head = f"| {say('start (one a side)')} | {say('before')} | {say('after')} |"
        yield "\n".join([head, "|---|---:|---:|", *boot])
    if comparison.messages:
        said = [f"- {markdown(one.level)}, {one.count}: {code(one.text[:300])}" for one in comparison.messages]
        yield "\n".join([say("New messages that no rule knows:"), "", *said])


def _cell(text: str) -> str:
    """Replace bars: they end a cell of a table even inside code."""
    return code(text.replace("|", "¦"))
