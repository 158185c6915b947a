"""Text reports of Nsight Systems: what ``nsys stats`` prints or writes, as CSV or in columns, from 2019 to 2026."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._profile import Profile
from diagnoser.traces._reporttables import Row, rows
from diagnoser.traces.base import Wanted

NAME = "nsys-stats"
ORDER = 40
KINDS = ("csv", "reports")
SAMPLES = [
    (
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
        "60.0,6000000,600,10000.0,9000.0,8000,20000,100.0,ncclDevKernel_AllReduce_Sum_bf16_RING_LL\n"
        '40.0,4000000,100,40000.0,40000.0,9000,90000,50.0,"void gemv2T_kernel_val<int, int>(int)"\n',
        1,
    ),
    (
        "Processing [a.sqlite] with [/opt/nsys/reports/osrt_sum.py]... \n\n ** OS Runtime Summary (osrt_sum):\n\n"
        " Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Name\n"
        " --------  ---------------  ---------  --------  ----\n"
        "     90.0        9,000,000        100  90,000.0  poll\n",
        1,
    ),
    ("Start (ns),Duration (ns),CorrId,Device,Ctx,Strm,Name\n100,50,1,H100 (0),1,7,a\n200,50,2,H100 (0),1,7,b\n", 2),
]

#: Columns by meaning, in the spellings of all versions, without their unit.
_TIME = ("Total Time",)
_COUNT = ("Instances", "Num Calls", "Calls", "Count", "Operations")
_EACH = ("Med", "Avg", "Average")
_UNITS = {"ns": 1e-9, "us": 1e-6, "μs": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_HEADER = re.compile(
    r"^[ \"]*(?:Time ?\(%\)\"?[,\t ]+\"?Total Time\b|Start \((?:ns|us|ms|s)\)\"?[,\t ]+\"?Duration \()", re.MULTILINE
)
#: Functions of CUDA and HIP; others in a table of calls are the C library's.
_API = re.compile(r"cuda[A-Z]|cu[A-Z]|hip[A-Z]")
_DEVICE_NUMBER = re.compile(r" \(\d+\)\Z")
#: Faulty rows that are told one by one.
TOLD = 3


def recognise(head: str) -> bool:
    """By the header of a report."""
    return _HEADER.search(head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one ``Measure`` for each profile: reports on one file are one, a report that comes again begins anew."""
    reading: _Profiled | None = None
    found = False
    faults: list[Problem] = []
    lines = ((part, number, raw.decode("utf-8", "replace").rstrip("\r")) for part, number, raw in source.raw_lines())
    for row in rows(lines):
        kind = _kind(row)
        if not kind:
            continue
        if reading is not None and reading.over(row, kind):
            yield from (closed := reading.close())
            found, reading = found or bool(closed), None
        if reading is None:
            reading = _Profiled(row)
        if not reading.take(row, kind) and len(faults) < TOLD:
            faults.append(
                Problem(row.part, row.line, Sentence("expected numbers in the row, not {text}", text=_shown(row.text)))
            )
    if reading is not None:
        yield from (closed := reading.close())
        found = found or bool(closed)
    yield from faults
    if not found:
        text = Sentence(
            "reports of Nsight Systems, but none of those that are read: cuda_gpu_kern_sum, cuda_api_sum, osrt_sum, …"
        )
        yield Problem(source.name, None, text)


class _Profiled:
    """The reports on one profile."""

    def __init__(self, first: Row) -> None:
        self._file = first.file
        self._origin = Origin(first.part, first.line)
        self._tables: dict[str, int] = {}
        self._profile = Profile()
        self._traced = Profile()
        self._devices: dict[str, int] = {}

    def over(self, row: Row, kind: str) -> bool:
        """Whether a row is of another profile."""
        if row.file != self._file:
            return True
        return not row.file and kind != "calls" and self._tables.get(kind, row.table) != row.table

    def take(self, row: Row, kind: str) -> bool:
        """Take a row; False when it holds no numbers."""
        if kind == "trace":
            return self._trace(row)
        # The same kernels by grid and block, or calls of the same section, in one more report on the same file.
        if kind != "calls" and self._tables.setdefault(kind, row.table) != row.table:
            return True
        time, count = _seconds(row, _TIME), _number(row, _COUNT)
        if time is None or count is None:
            return False
        place = (row.line, _said(row, count))
        if kind == "kernels":
            each = _seconds(row, _EACH)
            self._profile.kernel(
                row.cells["Name"], time, each if each is not None else time / count if count else 0, count, place
            )
        elif kind == "copies":
            self._profile.copy(time)
        else:
            name = row.cells["Name"]
            section = self._profile.calls if _API.match(name) else self._profile.system
            section.add(name, time, count, place)
        return True

    def _trace(self, row: Row) -> bool:
        start, length, name = _seconds(row, ("Start",)), _seconds(row, ("Duration",)), row.cells.get("Name", "")
        if start is None or length is None or not name:
            return False
        device = (
            self._devices.setdefault(row.cells.get("Device", "")[:80], len(self._devices))
            if len(self._devices) < 64
            else 0
        )
        self._profile.work.add(device, start, start + length)
        if name.startswith("[CUDA mem"):
            self._traced.copy(length)
        else:
            self._traced.kernel(name, length, length)
        return True

    def close(self) -> list[Observation]:
        """Return what the reports say."""
        profile = self._profile
        if not profile.kernels.count:
            profile.kernels, profile.lengths = self._traced.kernels, self._traced.lengths
        if profile.copies is None:
            profile.copies = self._traced.copies
        # Without its calls nobody knows whether graphs ran whose kernels are missing, and what a gap is.
        profile.complete = profile.calls.count > 0
        profile.gpu = _DEVICE_NUMBER.sub("", next(iter(self._devices), ""))
        return list(profile.observations(NAME, self._origin))


def _kind(row: Row) -> str:
    """Tell a report by its columns: "kernels", "calls", "copies", "trace" or "" for those that say nothing here."""
    names = {name.partition(" (")[0] for name in row.cells}
    if {"Start", "Duration", "Name"} <= names:
        return "trace"
    if "Total Time" not in names or "Style" in names or "Range" in names or "Category" in names:
        return ""
    if "Operation" in names:
        return "copies"
    if "Name" not in names:
        return ""
    return "kernels" if "Instances" in names else "calls" if names & {"Num Calls", "Calls"} else ""


def _seconds(row: Row, labels: tuple[str, ...]) -> float | None:
    """Return a time; a column without a unit is in nanoseconds, as the versions of 2019 and 2020 print it."""
    for wanted in labels:
        for name, text in row.cells.items():
            label, _, unit = name.partition(" (")
            if label == wanted and (number := _parsed(text)) is not None:
                return number * _UNITS.get(unit.removesuffix(")"), 1e-9)
    return None


def _number(row: Row, labels: tuple[str, ...]) -> float | None:
    return next((_parsed(text) for name, text in row.cells.items() if name in labels), None)


def _said(row: Row, count: float) -> str:
    """Write a row in words: its cells stand too far apart to be read as they are."""
    share = next((text for name, text in row.cells.items() if name.startswith("Time")), "?")
    return f"{share} % of the time in {count:,.0f}: {next(reversed(row.cells.values()))}"


def _parsed(text: str) -> float | None:
    try:
        number = float(text.replace(",", "")) if len(text) < 40 else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
