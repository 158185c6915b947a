"""Simulated servers before the diagnosis: their log and metrics pages as files, as many of them as asked."""

from __future__ import annotations

from pathlib import Path

from serverlogs import judge

from diagnoser.api import Session
from simulated import pages, sglang_log, vllm_log
from simulated.server import Record

INPUTS = ("log", "metrics", "both", "many")


def write(record: Record, folder: Path, inputs: str) -> list[Path]:
    """Write what ``inputs`` names: the log, five pages as in the recordings, both, or the log with many pages."""
    names = []
    if inputs != "metrics":
        printed = sglang_log.log(record) if record.server.engine == "sglang" else vllm_log.log(record)
        names.append(folder / "server.log")
        names[0].write_text("".join(f"{line}\n" for line in printed))
    if inputs != "log":
        end = record.server.run
        times = [end * n / 45 for n in range(46)] if inputs == "many" else [1.0, end / 4, end / 2, end * 3 / 4, end + 5]
        metrics = pages.Pages(record)
        for place, at in enumerate(times):
            names.append(folder / f"metrics-{place:03}.prom")
            names[-1].write_text(metrics.page(at))
    return names


def diagnose(record: Record, folder: Path, inputs: str) -> Session:
    return judge(*write(record, folder, inputs))
