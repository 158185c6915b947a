"""Backtest of the exported alerts: recordings of servers replayed through the rule engine of a real Prometheus.

    python benchmarks/alerts.py RECORDINGS [--output docs/alerting.md]

Every folder below RECORDINGS that holds ``case.yaml`` (with ``causes``: ids of rules, ``accept``: what may be found
too) and two metrics pages or more is a recording; ``metrics-index.csv`` tells when each page was taken (``epoch``) and
whether the server was under load (``phase``). Recordings last a minute or two, so rules are exported with a window of
WINDOW seconds and fire at once (``for: 0s``); the defaults are slower by their own window and ``for``. Needs promtool.
With --output the table between the marks in that page is renewed.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml

from diagnoser.alerting.export import Exported, Wanted, export
from diagnoser.alerting.replay import Scrape, input_series, samples
from diagnoser.api import Knowledge, Options, Session

WINDOW, STEP = 120, 5
BEGIN, END = "<!-- backtest: written by benchmarks/alerts.py -->", "<!-- end of backtest -->"
_GOT = re.compile(r'\{cause="([^"]+)", instance="([^"]+)"\} ([\d.E+-]+)')


class Recording(NamedTuple):
    """One recorded server: its pages, when load began, what was wrong with it."""

    name: str
    engine: str
    scrapes: list[Scrape]
    load: float
    causes: frozenset[str]
    accept: frozenset[str]
    pages: list[Path]


def recordings(root: Path) -> list[Recording]:
    """Read every recording that has pages with times."""
    out = []
    for case in sorted(root.rglob("case.yaml")):
        folder, told = case.parent, yaml.safe_load(case.read_text(encoding="utf-8"))
        index = folder / "metrics-index.csv"
        if not index.exists():
            continue
        rows = {int(row["n"]): row for row in csv.DictReader(index.open(encoding="utf-8"))}
        scrapes, pages = [], []
        for page in sorted(folder.glob("metrics-*.prom")):
            row = rows.get(int(page.stem.rpartition("-")[2]))
            found = samples(page.read_text(encoding="utf-8", errors="replace").splitlines())
            if row is not None and found:
                scrapes.append(Scrape(float(row["epoch"]), found))
                pages.append(page)
        # Without phases the load is there from the first page on.
        under = [float(row["epoch"]) for row in rows.values() if row.get("phase", "load") == "load"]
        if len(scrapes) >= 2 and under:
            causes, accept = (frozenset(told.get(name) or ()) for name in ("causes", "accept"))
            out.append(Recording(told["id"], told["engine"], scrapes, min(under), causes, accept, pages))
    return out


def first_alerts(found: list[Recording], exported: Exported, promtool: str) -> dict[tuple[str, str], float]:
    """Return when each cause first fired in each recording, in seconds after its first page."""
    series: list[dict[str, str]] = []
    length = 0
    for one in found:
        start, end = one.scrapes[0].time, one.scrapes[-1].time
        length = max(length, int(end - start) // STEP * STEP)
        series += input_series(one.scrapes, start, end, STEP, f'job="llm",instance="{one.name}"')
    # promtool prints what it got where it expected nothing: that is the measurement.
    expr = f'min by (cause, instance) (min_over_time(timestamp(ALERTS{{alertstate="firing"}})[{length}s:{STEP}s]))'
    test = {
        "interval": f"{STEP}s",
        "input_series": series,
        "promql_expr_test": [{"expr": expr, "eval_time": f"{length}s", "exp_samples": []}],
    }
    document = {"rule_files": ["rules.yml"], "evaluation_interval": f"{STEP}s", "tests": [test]}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rules.yml").write_text(yaml.safe_dump({"groups": exported.groups}), encoding="utf-8")
        Path(folder, "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
        run = subprocess.run(
            [promtool, "test", "rules", "test.yml"], cwd=folder, capture_output=True, text=True, check=False
        )
    got = run.stdout + run.stderr
    if "got:" not in got:
        sys.exit(f"promtool measured nothing:\n{got[-2000:]}")
    return {(cause, name): float(when) for cause, name, when in _GOT.findall(got)}


def judged(found: list[Recording], knowledge: Knowledge) -> dict[str, set[str]]:
    """Return what diagnose finds in the same pages, and in nothing else."""
    return {one.name: {cause.id for cause in Session(one.pages, knowledge=knowledge).report.findings} for one in found}


def table(
    found: list[Recording], exported: Exported, first: dict[tuple[str, str], float], by_pages: dict[str, set[str]]
) -> str:
    """Write the table: one row for each exported cause."""
    rows = [
        "| alert | fired, with the fault | diagnose, from the same pages | seconds after load began | fired, without |",
        "|---|---|---|---|---|",
    ]
    for rule in dict.fromkeys(one.rule for one in exported.told if one.levels):
        having = [one for one in found if rule in one.causes]
        free = [one for one in found if rule not in one.causes | one.accept]
        hits = [first[rule, one.name] + one.scrapes[0].time - one.load for one in having if (rule, one.name) in first]
        wrong = [one.name for one in free if (rule, one.name) in first]
        early = f"{min(hits):.0f} to {max(hits):.0f}" if hits else "-"
        named = ", ".join(wrong[:4]) + (f" and {len(wrong) - 4} more" if len(wrong) > 4 else "")
        seen = sum(rule in by_pages[one.name] for one in having)
        beyond = f"{len(wrong)} of {len(free)}" + (f" ({named})" if wrong else "")
        rows.append(f"| `{rule}` | {len(hits)} of {len(having)} | {seen} of {len(having)} | {early} | {beyond} |")
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Replay and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args(arguments)
    promtool = shutil.which("promtool")
    if promtool is None:
        sys.exit("promtool is not here: it is in Debian's package prometheus")
    found = recordings(args.recordings)
    if not found:
        sys.exit(f"no recordings in {args.recordings}")
    knowledge = Knowledge(Options())
    wanted = Wanted(window=WINDOW, interval=STEP, hold=0, least="info")
    exported = export(knowledge.base, knowledge.vocabulary, wanted)
    first = first_alerts(found, exported, promtool)
    healthy = sum(not one.causes for one in found)
    lasting = sorted(one.scrapes[-1].time - one.scrapes[0].time for one in found)
    head = (
        f"{len(found)} recordings ({healthy} of them without a fault), {lasting[0]:.0f} to {lasting[-1]:.0f} s long "
        f"(median {lasting[len(lasting) // 2]:.0f} s), {min(len(one.scrapes) for one in found)} to "
        f"{max(len(one.scrapes) for one in found)} pages each; window {WINDOW} s, `for: 0s`, severity info and above."
    )
    text = f"{BEGIN}\n{head}\n\n{table(found, exported, first, judged(found, knowledge))}\n{END}"
    print(text)
    if args.output:
        page = args.output.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        args.output.write_text(before + text + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
