"""The score card as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.commands._score import Score, Tally

_HEAD = """\
# Accuracy

Made by `diagnose rules score {names} -o docs/accuracy.md`; a test holds it current.

Every rule against the labelled cases of this repository: the samples, which rules were written along with, and the
cases under `tests/cases/`, which were written from how the engines log and labelled before they were run (what the
first run said of them stands in [tests/cases/README.md](../tests/cases/README.md)). A case is *right* when its root
cause is the first finding, or when nothing at warning or above is said of a healthy server. Findings below warning
count as found and never as wrong.
"""


def page(score: Score, names: Sequence[str]) -> str:
    """Return the page."""
    verdicts = score.verdicts
    sick = [one for one in verdicts if one.case.causes]
    well = [one for one in verdicts if not one.case.causes]
    hits, misses = sum(len(one.hit) for one in sick), sum(len(one.missed) for one in sick)
    wrong, first = sum(len(one.wrong) for one in verdicts), sum(one.right for one in sick)
    out = [_HEAD.format(names=" ".join(names)), "## All cases", "", "| | |", "|---|---|"]
    out += [
        f"| cases with a cause | {len(sick)} |",
        f"| root cause first | {first} ({_share(first, len(sick))}) |",
        f"| labelled causes found | {hits} of {hits + misses} ({_share(hits, hits + misses)}) |",
        f"| healthy servers | {len(well)}, {sum(one.right for one in well)} without a finding at warning or above |",
        f"| findings at warning or above that no label has | {wrong} |",
        "",
        "## By rule",
        "",
        "`found` of `labels`, `wrong` findings, `first`: how often it was the root and came first.",
        "",
        "| rule | labels | found | wrong | first | precision | recall |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    unlabelled = []
    for name, tally in score.rules.items():
        if tally == Tally():
            unlabelled.append(name)
            continue
        cells = [tally.hits + tally.misses, tally.hits, tally.false, tally.first]
        shares = [_percent(tally.precision), _percent(tally.recall)]
        out.append(f"| `{name}` | {' | '.join(map(str, cells))} | {' | '.join(shares)} |")
    if unlabelled:
        out += ["", f"No case has: {', '.join(f'`{name}`' for name in unlabelled)}."]
    out += ["", "## Confusion", "", "Cases whose first finding is not their root cause.", ""]
    if score.confusion:
        out += ["| root cause | first finding | cases |", "|---|---|---|"]
        for (root, said), cases in sorted(score.confusion.items()):
            out.append(f"| {_name(root, 'healthy')} | {_name(said, 'nothing')} | {', '.join(cases)} |")
    else:
        out.append("None.")
    out += ["", "## Misses", ""]
    missed = [one for one in verdicts if one.missed or one.wrong]
    if missed:
        out += ["| case | missed | wrong | why |", "|---|---|---|---|"]
        for one in missed:
            lists = [", ".join(map(_code, names)) or "" for names in (one.missed, one.wrong)]
            out.append(f"| {one.case.name} | {' | '.join(lists)} | {one.case.missed} |")
    else:
        out.append("None.")
    return "\n".join(out) + "\n"


def _code(name: str) -> str:
    return f"`{name}`"


def _name(name: str, nothing: str) -> str:
    return f"`{name}`" if name else nothing


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
