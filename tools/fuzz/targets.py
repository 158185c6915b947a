"""What is fuzzed: a reader behind one function of bytes, the errors that it may answer with, and inputs to start from.

A target returns when the input was read or refused as documented; whatever else it raises is a defect.
"""

from __future__ import annotations

import functools
import io
import json
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from diagnoser.api import Knowledge

ROOT = Path(__file__).parents[2]
#: Longer seeds are cut: what a reader does with a long input it does with some kilobytes, and far faster.
SEED = 6_000


class Target(NamedTuple):
    """A reader: ``run`` one input; ``seeds`` gives valid ones; ``cost`` is how much slower than a parser it is."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    cost: int = 1


@functools.cache
def knowledge() -> Knowledge:
    """Return the shipped rule base, loaded once."""
    from diagnoser.api import Knowledge, Options

    return Knowledge(Options())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# -- inputs


def sources(data: bytes) -> None:
    """Decompression, archives, byte order marks, kinds, lines and their limits."""
    from diagnoser.sources import InputError, open_inputs

    try:
        opened = open_inputs(["-"], io.BytesIO(data))
    except InputError as error:
        _one_line(str(error))
        return
    for source in opened:
        count = 0
        for _, _, line in source.raw_lines():
            assert len(line) <= 1 << 20
            count += 1
        assert source.lines == count


def records(data: bytes) -> None:
    """Envelopes and dialects: every line is in a record, was taken for an envelope's own, or was told to be cut."""
    from diagnoser.envelopes import Peeler
    from diagnoser.formats.records import RecordReader

    raw = [("x", number, line) for number, line in enumerate(data.split(b"\n"), 1)]
    reader = RecordReader()
    lines = [*Peeler().lines(raw)]
    reader.foresee(lines[:100])
    for line in lines:
        for record in reader.feed(line):
            assert record.text is not None
    reader.flush()


def traces(data: bytes) -> None:
    """Prometheus text, JSON kinds, tables, what Kubernetes prints: measurements or a problem that says why not."""
    from diagnoser.observations import Page
    from diagnoser.sources import InputError, open_inputs
    from diagnoser.traces import reader_of

    try:
        (source,) = open_inputs(["-"], io.BytesIO(data))
    except (InputError, ValueError):  # nothing in it, or an archive of several
        return
    if source.kind == "log" or (reader := reader_of(source)) is None:
        return
    for one in reader.read(source, lambda _: True):
        if isinstance(one, Page):
            for _ in one.samples:
                pass


def sqlite(data: bytes) -> None:
    """Read exports of profiles: a file, since SQLite reads nothing else."""
    from diagnoser.sources import InputError, open_inputs
    from diagnoser.traces import reader_of

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.sqlite")
        path.write_bytes(data)
        try:
            (source,) = open_inputs([str(path)], None)
        except (InputError, ValueError):
            return
        reader = reader_of(source) if source.kind != "log" else None
        for _ in reader.read(source, lambda _: True) if reader is not None else ():
            pass


def session(data: bytes) -> None:
    """Everything behind each other: a log or trace is judged and printed in every format."""
    from diagnoser import reports
    from diagnoser.api import Session
    from diagnoser.sources import InputError

    try:
        made = Session(["-"], stdin=io.BytesIO(data), knowledge=knowledge())
    except InputError as error:
        _one_line(str(error))
        return
    for name in reports.formats():
        if name != "html":  # takes a story, which reads the input again
            text = reports.get(name).render(made.report, reports.RenderOptions())
            assert not _OBEYED.search(text), name


#: What a terminal would obey.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


# -- values, texts of options, bodies


def python_values(data: bytes) -> None:
    """Argument dumps: ``Namespace(...)``, ``ServerArgs(...)``, dictionaries, cut at either end."""
    from diagnoser.formats.pyrepr import find_dump, parse_dump

    text = _text(data)
    find_dump(text)
    parse_dump(text)


def expressions(data: bytes) -> None:
    """Conditions of rules."""
    from diagnoser.rules.compiling.expression import ExpressionError, parse

    text = _text(data)
    try:
        parse(text)
    except ExpressionError as error:
        assert 1 <= error.column <= len(text) + 1
        _one_line(str(error))


def templates(data: bytes) -> None:
    """Templates of events: what is accepted compiles and has an anchor."""
    import regex

    from diagnoser.rules.compiling.template import parse_template
    from diagnoser.rules.compiling.template_syntax import TemplateError

    text = _text(data)
    try:
        template = parse_template(text)
    except TemplateError as error:
        assert 1 <= error.column <= len(text) + 1
        return
    assert template.anchor
    regex.compile(template.pattern)  # how long it may search is the matcher's business


def rule_files(data: bytes) -> None:
    """Rule files: every fault is told with its place."""
    from diagnoser.knowledge.catalog import Catalog
    from diagnoser.knowledge.paths import rules_dir
    from diagnoser.knowledge.vocabulary import Vocabulary
    from diagnoser.rules.loader import RuleBaseError, load

    vocabulary, catalog = _vocabulary(Vocabulary.load, Catalog, rules_dir)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory", "full.yaml")
        path.parent.mkdir()
        path.write_bytes(data)
        try:
            load([Path(folder)], vocabulary, catalog=catalog)
        except RuleBaseError as error:
            assert error.errors
            assert all(one.line >= 1 and one.column >= 1 for one in error.errors)


@functools.cache
def _vocabulary(load, catalog, folder):  # type: ignore[no-untyped-def]
    return load(folder()), catalog(folder())


def yaml_documents(data: bytes) -> None:
    """YAML as Kubernetes prints it: several documents, strict, bounded."""
    from diagnoser.knowledge.yamlfile import Document, YamlError, documents, parse

    text = _text(data)
    for read in (parse, documents):
        try:
            found = read(text)
            for one in [found] if isinstance(found, Document) else found:
                one.place(("a", 0))
        except YamlError as error:
            assert error.line >= 1 and error.column >= 1


def alert_bodies(data: bytes) -> None:
    """Bodies of webhooks."""
    from datetime import timedelta

    from diagnoser.alerts import AlertError, read

    try:
        alert = read(_text(data))
    except AlertError as error:
        assert str(error)
        return
    alert.bounds(timedelta(hours=14))


def saved_reports(data: bytes) -> None:
    """Take reports back as done by ``compare``."""
    from diagnoser import reports
    from diagnoser.comparing.saved import SavedReportError, read

    try:
        report = read(data, "a.json")
    except SavedReportError as error:
        assert str(error)
        return
    for name in ("text", "markdown"):
        reports.get(name).render(report, reports.RenderOptions())


def option_texts(data: bytes) -> None:
    """Read times, objectives and addresses as people type them."""
    from diagnoser.scraping.address import parse_address
    from diagnoser.sources import InputError
    from diagnoser.timefilter import parse_bound

    text = _text(data)
    try:
        bound = parse_bound(text)
        for end in (None, 0.0, 951_782_399.0, 1.8e9):
            bound.resolve(end)
    except ValueError:
        pass
    try:
        parse_address(text)
    except InputError as error:
        _one_line(str(error))


def _one_line(text: str) -> None:
    assert text


# -- seeds


@functools.cache
def samples() -> tuple[tuple[str, bytes], ...]:
    """Return what the samples hold, by name, in the order of their names."""
    paths = sorted((ROOT / "samples").glob("*/*"))
    return tuple((path.name, path.read_bytes()) for path in paths if path.name != "expected.yaml")


def _cut(data: bytes) -> bytes:
    """Leave whole lines of the beginning, the middle and the end."""
    if len(data) <= SEED:
        return data
    lines = data.split(b"\n")
    third = SEED // 3
    head = data[: data.rfind(b"\n", 0, third) + 1 or third]
    tail = data[-third:]
    middle = b"\n".join(lines[len(lines) // 2 :])[:third]
    return head + middle + b"\n" + tail[tail.find(b"\n") + 1 :]


def _logs() -> list[bytes]:
    from diagnoser.envelopes._registry import envelopes

    wrapped = ["".join(f"{one}\n" for one in envelope.SAMPLES).encode() for envelope in envelopes()]
    return [*(_cut(data) for name, data in samples() if name.endswith(".log")), *wrapped]


def _traces() -> list[bytes]:
    from diagnoser.traces import readers

    own = [content for reader in readers() for content, _ in reader.SAMPLES]
    given = [one if isinstance(one, bytes) else one.encode() for one in own]
    return [*given, *(_whole(data) for name, data in samples() if not name.endswith((".log", ".sqlite", ".gz")))]


def _whole(data: bytes) -> bytes:
    return data if data[:1] in b"{[" and len(data) < 20_000 else _cut(data)


def _sources() -> list[bytes]:
    import bz2
    import gzip
    import lzma

    import zstandard

    text = _logs()[0][:2000]
    packed = [gzip.compress(text, mtime=0), bz2.compress(text), lzma.compress(text)]
    packed += [zstandard.ZstdCompressor().compress(text), text, text.decode("utf-8", "replace").encode("utf-16")]
    return [*packed, *archives()]


def archives() -> list[bytes]:
    """Return a tar and a zip with two members, one compressed."""
    import gzip

    text = _logs()[0][:1500]
    members = {"a/server.log": text, "a/more.log.gz": gzip.compress(text, mtime=0)}
    tar, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name), data)
    return [tar.getvalue(), zipped.getvalue()]


def _rules() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "rules").glob("*/*.yaml"))[:40] if path.stat().st_size < 8_000]


def _conditions() -> list[bytes]:
    found = [rule.when.text for rule in knowledge().base.rules.values()]
    return [text.encode() for text in dict.fromkeys(found)][:80]


def _templates() -> list[bytes]:
    text = "\n".join(data.decode() for data in _rules())
    return [one.encode() for one in dict.fromkeys(re.findall(r'(?m)^\s+(?:any|vllm|sglang): "(.{8,})"$', text))][:60]


def _dumps() -> list[bytes]:
    lines = [line for data in (data for name, data in samples() if name == "server.log") for line in data.split(b"\n")]
    return [
        line[:3000] for line in lines if b"server_args=" in line or b"non-default args" in line or b"config:" in line
    ]


def _alerts() -> list[bytes]:
    one = {"labels": {"alertname": "a", "pod": "llm-0"}, "startsAt": "2026-11-29T10:00:00Z", "status": "firing"}
    two = {**one, "status": "resolved", "endsAt": "2026-11-29T11:00:00.123+02:00"}
    old = {"ruleName": "r", "state": "ok", "evalMatches": [{"tags": {"pod": "llm-0"}}]}
    return [json.dumps(body).encode() for body in ({"alerts": [one, two], "version": "4"}, [one], old)]


def _reports() -> list[bytes]:
    from diagnoser import reports
    from diagnoser.api import Session

    names = ("engine-killed", "long-prompts")
    made = (Session([str(ROOT / "samples" / name)], knowledge=knowledge()).report for name in names)
    return [reports.get("json").render(report, reports.RenderOptions()).encode() for report in made]


def _options() -> list[bytes]:
    texts = ["15m", "10:00", "02-29 10:00", "2026-11-29T10:00:03", "http://a:b@h:80/metrics?x=1"]
    texts += ["prom://p:9090/x?match=job%3D%22a%22&start=2026-11-29T10:00:00Z&end=1h"]
    return [text.encode() for text in texts]


TARGETS: dict[str, Target] = {
    "sources": Target(sources, _sources, 2),
    "records": Target(records, _logs, 4),
    "traces": Target(traces, _traces, 4),
    "sqlite": Target(sqlite, lambda: [data for name, data in samples() if name.endswith(".sqlite")], 4),
    "python-values": Target(python_values, _dumps, 4),
    "expressions": Target(expressions, _conditions, 2),
    "templates": Target(templates, _templates),
    "rule-files": Target(rule_files, _rules, 12),
    "yaml": Target(yaml_documents, _rules, 2),
    "alerts": Target(alert_bodies, _alerts),
    "saved-reports": Target(saved_reports, _reports, 6),
    "options": Target(option_texts, _options),
    "session": Target(session, lambda: [*_logs(), *_traces(), *archives()], 30),
}


def words(name: str) -> Iterator[bytes]:
    """Yield pieces of the seeds that changes may put elsewhere: words, numbers, punctuation."""
    for seed in TARGETS[name].seeds():
        yield from re.findall(rb"[A-Za-z_][\w.-]{2,30}|\d+(?:\.\d+)?|[^\w\s]{1,3}", seed[:4000])
