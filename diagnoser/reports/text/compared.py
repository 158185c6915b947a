"""Two sides on a page for a person: the verdict first, then what it stands on."""

from __future__ import annotations

from diagnoser.contracts.comparison import Comparison, Odd
from diagnoser.language import phrase
from diagnoser.reports import compared, layout
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.safe import line
from diagnoser.reports.text.page import Page

COLUMN = 15
_MESSAGES = 5
_FOLLOWS = phrase("follows")
_STYLES = {"worse": "critical", "mixed": "warning", "better": "ok"}


def render(comparison: Comparison, options: RenderOptions) -> str:
    """Plain text of at most ``options.width`` cells."""
    page = Page(options)
    for piece in layout.wrap(compared.verdict(comparison, page.say), page.width):
        page.add((piece, _STYLES.get(comparison.verdict, "title")))
    page.gap()
    page.labelled(page.say("before"), [compared.side(comparison.before, page.say)], 0, COLUMN)
    page.labelled(page.say("after"), [compared.side(comparison.after, page.say)], 0, COLUMN)
    page.labelled(page.say("cause"), [_arrows(page, comparison.attribution_text)], 0, COLUMN)
    page.labelled(page.say("load"), [line(comparison.load_text)], 0, COLUMN)
    body(page, comparison)
    return page.text()


def section(page: Page, comparison: Comparison) -> None:
    """Write the part of the main report that says what differs from a good run."""
    page.gap()
    good, now = compared.side(comparison.before, page.say), compared.verdict(comparison, page.say)
    page.labelled(page.say("baseline"), [page.say("against {side}").format(side=good)], 0, COLUMN)
    page.labelled("", [page.say("now {verdict}").format(verdict=now)], 0, COLUMN)
    page.labelled("", [_arrows(page, comparison.attribution_text)], 0, COLUMN)
    body(page, comparison)
    page.gap()


def stand_out(page: Page, odd: list[Odd]) -> None:
    """Write the short list of ranks and replicas that differ from their peers; nothing for none."""
    if odd:
        shown = odd if page.options.verbose else odd[:5]
        texts = [compared.stands_out(one, page.say) for one in shown]
        rest = [page.say("{count} more (-v)").format(count=len(odd) - len(shown))] if len(odd) > len(shown) else []
        page.gap()
        page.labelled(page.say("odd one out"), [*texts, *rest], 0, COLUMN)
        page.gap()


def body(page: Page, comparison: Comparison) -> None:
    """Write configuration, figures, findings, start, new messages; each where there is something to say."""
    _configuration(page, comparison)
    _figures(page, comparison)
    _findings(page, comparison)
    boot = [one for one in comparison.boot if one.before is not None and one.after is not None]
    texts = [
        f"{one.title} {compared.seconds(one.before)} {page.arrow} {compared.seconds(one.after)}"
        for one in boot
        if page.options.verbose or compared.seconds(one.before) != compared.seconds(one.after)
    ]
    if texts:
        page.gap()
        told = [*layout.flow(texts, page.width - COLUMN, page.dot), page.say("one start a side")]
        page.labelled(page.say("start"), told, 0, COLUMN)
    if comparison.messages:
        page.gap()
        every = page.options.verbose
        shown = comparison.messages if every else comparison.messages[:_MESSAGES]
        times = "×" if page.options.unicode else "x"
        said = [f"{line(one.level)} {times}{one.count} {line(one.text)[:300]}" for one in shown]
        if len(shown) < len(comparison.messages):
            said.append(page.say("{count} more (-v)").format(count=len(comparison.messages) - len(shown)))
        page.labelled(page.say("new messages"), said, 0, COLUMN)


def _arrows(page: Page, text: str) -> str:
    return line(text).replace(" -> ", f" {page.arrow} ")


def _configuration(page: Page, comparison: Comparison) -> None:
    for title, found in compared.kinds(comparison):
        if title == "no matter" and not page.options.verbose:
            continue
        every = page.options.verbose or title == "changed"
        shown = found if every else found[: compared.RESOLVED]
        page.gap()
        name_width = min(34, max(layout.cells(line(one.name)) for one in shown))
        label = page.say(title if title in ("changed", "no matter") else _FOLLOWS)
        texts = [
            f"{layout.pad(layout.cut(line(one.name), name_width, page.mark), name_width)}  "
            f"{compared.value(one.before, page.say)} {page.arrow} {compared.value(one.after, page.say)}"
            for one in shown
        ]
        for at, text in enumerate(texts):
            lead = layout.pad(label if at == 0 else "", COLUMN)
            if layout.cells(text) <= page.width - COLUMN:
                page.add((lead, "label"), text)
            else:
                page.labelled(label if at == 0 else "", [text], 0, COLUMN)
        if len(shown) < len(found):
            page.add(" " * COLUMN, (page.say("{count} more (-v)").format(count=len(found) - len(shown)), "dim"))


def _figures(page: Page, comparison: Comparison) -> None:
    rows = [
        (*cells, "" if one.state == "unknown" else means)
        for one in comparison.figures
        for *cells, means in [compared.cells(one, page.say)]
    ]
    if not rows:
        return
    page.gap()
    heads = ("", page.say("before"), page.say("after"), page.say("change"), "")
    counted = page.say("samples")
    widths = [max(layout.cells(row[i]) for row in (*rows, heads)) for i in range(4)]
    widths[0] = min(widths[0], 28)
    counts = [compared.samples(one) for one in comparison.figures]
    count_width = max(layout.cells(counted), *map(len, counts))
    pairs = [(heads, counted, ""), *zip(rows, counts, (one.means for one in comparison.figures), strict=True)]
    for row, count, means in pairs:
        lead = layout.pad(layout.cut(row[0], widths[0], page.mark), widths[0])
        numbers = "".join(f"  {layout.pad_left(row[i], widths[i])}" for i in (1, 2, 3))
        numbers += f"  {layout.pad_left(count, count_width)}"
        style = {"better": "ok", "worse": "critical"}.get(means, "dim" if not means else "")
        page.add(lead, numbers, "  ", (row[4], style))
    _untold(page, comparison)


def _untold(page: Page, comparison: Comparison) -> None:
    """Say of which figures nothing can be told: many share a reason, and it would push the table apart."""
    texts = [f"{', '.join(titles)}: {why}" for why, titles in compared.untold(comparison.figures)]
    if texts:
        page.gap()
        page.labelled(page.say("cannot tell"), texts, 0, COLUMN, "dim")


def _findings(page: Page, comparison: Comparison) -> None:
    texts = []
    for one in comparison.findings:
        levels = [page.say(level or "") for level in (one.before, one.after)]
        moved = f" {page.arrow} ".join(levels) if one.change == "severity" else levels[1] or levels[0]
        texts.append(f"{page.say(one.change)} {moved}: {line(one.title)} ({line(one.id)})")
    if texts:
        page.gap()
        page.labelled(page.say("findings"), texts, 0, COLUMN)
