"""Profiles of Nsight Systems as SQLite: ``nsys export --type sqlite``, or what ``nsys stats`` leaves behind."""

from __future__ import annotations

import base64
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.tables.table import Origin
from diagnoser.traces._named import Section
from diagnoser.traces._profile import Profile
from diagnoser.traces._sqlite import Tables, open_tables
from diagnoser.traces.base import Wanted

NAME = "nsys-sqlite"
ORDER = 50
KINDS = ("sqlite",)
# Tables StringIds, CUPTI_ACTIVITY_KIND_KERNEL and CUPTI_ACTIVITY_KIND_RUNTIME with two rows each, packed.
SAMPLES = [
    (
        zlib.decompress(
            base64.b85decode(
                b"c-rljJ#W)M7{~9qOPd7I5k-h0C$S`=LV-%4N~o%FPt_5}6z77H0i9g?np(9T$+5i$@eLT+7(4XK@CBF<17jry7MvFvAvsXW0"
                b"IK|x{XhHukMBj#Bb~c13@=vnXcPr@Ot%n50BDy|G-n+xDJ||F0J<b=(_r{E8*kne{2#30jZ6u=MeqU6vZmnQbDI#f?If;k*h"
                b"%Odw^bA>U#5>+t=3&kP$wOEE*+{MeJJF~!nFM-UKsB*GHKoef?kD=<L{|-@v-LnmU0tE$!-$J!=nd}q{YpBX&BS|WB7#NJd="
                b"WJ%1ykEaRs2hd;cTGH(>f!t&-1o`t$sMLGU$`f@@6`moNt0CvQj@N)-%nPG<Q>rwHC<^8N~gR;Druak-{x@Ol{AhrZH#2ZBp"
                b"Y7yKm`1KH;0o@_JAWQKnA)n9&&l@8G@rU^!c_S9f>bsTMsV>^l|HwD{g7B!y>YW56cld90o>2+1=Ig007fgKKg<(hV&a{Te}"
                b"D2j8vrUT_#y$+LGv;B7C$P0(u9bY`)pLTQ6O&i{FAqN)kXx4zX*<h1qr$nNtV12QiWMlSk_6%iL!Cx`iBITN{!z5T)pH|Nly"
                b"u*HBm3~{Hi@-lE(J(8qoC0lr2c%%+vj"
            )
        ),
        1,
    )
]

KERNELS, RUNTIME, SYSTEM = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API"
COPIES = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
STRINGS = "StringIds"
DEVICES = "TARGET_INFO_GPU"

#: Rows read of one table, names asked for, and groups of calls.
ROWS = 5_000_000
MOST_NAMES = 20_000
GROUPS = 10_000
#: Times in the file are nanoseconds.
TICK = 1e-9


def recognise(head: str) -> bool:
    """Any SQLite file: the schema of an export is long, and its pages may lie anywhere in the file."""
    return True


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one ``Measure``; tables that are missing or damaged are told, the others count."""
    try:
        tables = open_tables(source)
    except (sqlite3.Error, OSError, MemoryError) as error:
        yield Problem(source.name, None, Sentence("cannot be opened as an SQLite file: {error}", error=error))
        return
    profile = Profile()
    try:
        yield from _read(source.name, tables, profile)
    finally:
        tables.close()
    yield from profile.observations(NAME, Origin(source.name, 0))


def _read(name: str, tables: Tables, profile: Profile) -> Iterator[Problem]:
    if not tables.columns(KERNELS) and not tables.columns(GRAPHS):
        yield Problem(
            name,
            None,
            Sentence(
                "no table {kernels}: no kernels were recorded, or this is no export of Nsight Systems", kernels=KERNELS
            ),
        )
    steps: tuple[tuple[str, Callable[[Tables, Profile], str]], ...] = (
        (KERNELS, _kernels),
        (GRAPHS, _graphs),
        *((one, lambda tables, profile, one=one: _copies(tables, profile, one)) for one in COPIES),
        (RUNTIME, lambda tables, profile: _calls(tables, profile.calls, RUNTIME)),
        (DEVICES, _device),
        (SYSTEM, lambda tables, profile: _calls(tables, profile.system, SYSTEM)),
    )
    for table, step in steps:
        if not tables.columns(table):
            continue
        try:
            said = step(tables, profile)
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            said = Sentence(
                "reading stopped: {error}; what was read before counts, but for gaps between kernels", error=error
            )
            # A damaged table has holes, and a hole is not an idle GPU.
            profile.complete = False
        if said:
            yield Problem(name, None, Sentence("table {table}: {said}", table=table, said=said))


def _kernels(tables: Tables, profile: Profile) -> str:
    columns = tables.columns(KERNELS)
    label = next((one for one in ("demangledName", "shortName", "mangledName", "name") if one in columns), "")
    if not {"start", "end"} <= columns or not label:
        return Sentence("lacks the columns start, end, demangledName")
    device = "deviceId" if "deviceId" in columns else "0"
    # Names are asked for once each; until the rows are through they stand as numbers.
    waiting: dict[Any, dict[int, int]] = {}
    count = 0
    try:
        for start, end, gpu, ident in tables.rows(
            f'SELECT start, "end", {device}, {label} FROM {KERNELS} LIMIT {ROWS}'
        ):
            count += 1
            if not (_whole(start) and _whole(end) and _whole(gpu) and start < end):
                continue
            profile.work.add(gpu, start * TICK, end * TICK)
            if ident in waiting or len(waiting) < MOST_NAMES:
                lengths = waiting.setdefault(ident, {})
                length = _rounded(end - start)
                lengths[length] = lengths.get(length, 0) + 1
    finally:
        names = _names(tables, [one for one in waiting if _whole(one)])
        for ident, lengths in waiting.items():
            name = ident if isinstance(ident, str) else names.get(ident, "")
            for length, times in lengths.items():
                profile.kernel(name, length * times * TICK, length * TICK, times)
    return Sentence("only the first {rows} rows were read", rows=ROWS) if count >= ROWS else ""


def _rounded(length: int) -> int:
    """Keep three digits: what differs by less is the same length."""
    digits = len(str(length)) - 3
    return length if digits <= 0 else round(length, -digits)


def _names(tables: Tables, idents: list[int]) -> dict[Any, str]:
    if not {"id", "value"} <= tables.columns(STRINGS):
        return {}
    out: dict[Any, str] = {}
    try:
        for at in range(0, len(idents), 500):
            some = idents[at : at + 500]
            marks = ", ".join("?" * len(some))
            query = f"SELECT id, substr(value, 1, 2000) FROM {STRINGS} WHERE id IN ({marks}) LIMIT 1000"
            out.update((ident, value) for ident, value in tables.rows(query, some) if isinstance(value, str))
    except (sqlite3.Error, OverflowError):
        pass  # names that cannot be read are kernels of no class; their table says why when it is read next
    return out


def _device(tables: Tables, profile: Profile) -> str:
    if "name" in tables.columns(DEVICES):
        names = [name for (name,) in tables.rows(f"SELECT substr(name, 1, 200) FROM {DEVICES} LIMIT 1")]
        profile.gpu = names[0] if names and isinstance(names[0], str) else ""
    return ""


def _graphs(tables: Tables, profile: Profile) -> str:
    columns = tables.columns(GRAPHS)
    if not {"start", "end"} <= columns:
        return Sentence("lacks the columns start, end")
    device = "deviceId" if "deviceId" in columns else "0"
    for start, end, gpu in tables.rows(f'SELECT start, "end", {device} FROM {GRAPHS} LIMIT {ROWS}'):
        if _whole(start) and _whole(end) and _whole(gpu):
            profile.graph(gpu, start * TICK, end * TICK)
    return ""


def _copies(tables: Tables, profile: Profile, table: str) -> str:
    columns = tables.columns(table)
    if not {"start", "end"} <= columns:
        return Sentence("lacks the columns start, end")
    device = "deviceId" if "deviceId" in columns else "0"
    profile.copy(0)
    for start, end, gpu in tables.rows(f'SELECT start, "end", {device} FROM {table} LIMIT {ROWS}'):
        if _whole(start) and _whole(end) and _whole(gpu) and start < end:
            profile.work.add(gpu, start * TICK, end * TICK)
            profile.copy((end - start) * TICK)
    return ""


def _calls(tables: Tables, section: Section, table: str) -> str:
    columns = tables.columns(table)
    if not {"start", "end", "nameId"} <= columns:
        return Sentence("lacks the columns start, end, nameId")
    query = (
        f'SELECT nameId, count(*), sum("end" - start) FROM {table} WHERE "end" > start GROUP BY nameId LIMIT {GROUPS}'
    )
    found = [row for row in tables.rows(query) if _whole(row[0])]
    names = _names(tables, [row[0] for row in found])
    for ident, count, time in found:
        if isinstance(time, int | float) and ident in names:
            section.add(names[ident], time * TICK, count)
    return ""


def _whole(value: Any) -> bool:
    return isinstance(value, int) and -(1 << 62) < value < 1 << 62
