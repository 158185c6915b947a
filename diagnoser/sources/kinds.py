"""What an input is, from its first bytes: a log, metrics, JSON, YAML, CSV, SQLite, an archive, or nothing."""

from __future__ import annotations

import json
import re
from typing import Any

from diagnoser.language import Sentence
from diagnoser.patterns import lazily

#: Files that are never text, by their first bytes, with what to tell the person.
_BINARY = {
    b"\x7fELF": Sentence("binary: an ELF program"),
    b"\x89PNG": Sentence("binary: a PNG image"),
    b"\xff\xd8\xff": Sentence("binary: a JPEG image"),
    b"%PDF-": Sentence("binary: a PDF document"),
    b"GGUF": Sentence("binary: GGUF model weights"),
    b"\x93NUMPY": Sentence("binary: a NumPy array"),
    b"\x80\x02": Sentence("binary: a pickle"),
    b"\x80\x04\x95": Sentence("binary: a pickle"),
    b"7z\xbc\xaf\x27\x1c": Sentence("binary: a 7z archive: unpack it first"),
    b"LPKSHHRH": Sentence("binary: a binary systemd journal: export it with journalctl -o json"),
}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR, _TAR_AT = b"ustar", 257
#: More control or undecodable characters than this share, and it is not text. Logs cut in the middle of a character,
#: holding terminal codes or a hole of NULs left by a truncating rotation stay far below.
_MAX_STRANGE = 0.1
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x1b\x08\x0c")) + b"\x7f"

_METRIC_NAME = r"[A-Za-z_:][A-Za-z0-9_:]*"
_METRIC_NOTE = lazily(rf"# (?:(?:HELP|TYPE|UNIT) {_METRIC_NAME}(?: |\Z)|EOF\Z)")
_METRIC_SAMPLE = lazily(
    rf"{_METRIC_NAME}(?:\{{.*\}})?[ \t]+(?:[+-]?(?:\d[\d.eE+-]*|Inf)|NaN)(?:[ \t]+[-\d.]+)?(?: # .*)?\Z"
)
_COLUMN = lazily(r"\"?[A-Za-z_][\w ./%()\[\]#+-]{0,80}\"?\Z")
#: Lines that name the columns of a table of GPU figures: nvidia-smi's CSV, its dmon, rocm-smi and amd-smi.
_GPU_HEAD = lazily(
    r"(?:\"?[a-z][a-z0-9_.]*(?: \[[^\]]*\])?\"? *(?:[,;\t] *|\Z))+\Z|"
    r"#\s*(?:Date\s+)?(?:Time\s+)?gpu(?:\s+[a-z0-9_]+)+\s*\Z|"
    r"(?:timestamp,)?(?:device,.*(?:\((?:%|[CWB]|VRAM%)\)|clock speed:)|gpu,.*(?:gfx_activity|socket_power|hotspot))"
)
_GPU_WORD = lazily(
    r"\b(?:utilization\.\w|memory\.(?:used|free|total)|power\.draw|temperature\.\w|clocks[._]\w|ecc\.errors|pstate)|"
    r"^#|^(?:timestamp,)?(?:device|gpu),"
)
_GPU_QUERY = lazily(r"nvidia-smi\b.*--query-gpu")
_GPU_ROW = lazily(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3},|(?:[^,]{1,48}, )*\d+(?:\.\d+)? (?:%|MiB|W|MHz)(?:,|\Z)")
_DMON_ROW = lazily(r"(?:\d{4}[-/]?\d\d[-/]?\d\d\s+)?(?:\d\d:\d\d:\d\d\s+)?\d+(?:\s+(?:-|[\d.]+))+")
_SEPARATOR = lazily(r"[,;\t]")
#: Tables of AIPerf and GenAI-Perf: several, of different width, one under the other.
_SUMMARY = lazily(r"Metric,avg,(?:min|std|p\d+)\b")
#: Keys that a JSON object of a logger has: a text and, beside it, a time or a level.
_TEXT_KEYS = {"log", "message", "msg", "event", "text", "fields", "body"}
_STAMP_KEYS = {
    "stream", "time", "timestamp", "ts", "@timestamp", "asctime", "level", "levelname", "severity", "lvl",
}  # fmt: skip
#: A document over several lines; ``[pod/…]``, ``[2026-…]`` and ``[1;36m`` are no JSON, nor is
#: mpirun's ``[1,0]<stdout>:``.
_JSON_START = lazily(
    r"(?!\[\d+,\d+\]<std)(?:\{\s*(?:\"|\}|\Z)|\[\s*(?:[{\[\]]|\Z|\"[^\"]*\"\s*[,\]]|-?\d[\d.eE+-]*\s*(?:,|\]\s*\Z)))"
)
#: What ``kubectl get -o yaml`` prints, managed fields and all, and a page of ``kubectl describe pod``.
_YAML_OBJECT = lazily(r"(?:---[ \t]*\n)?(?:#[^\n]*\n)*(?:apiVersion|kind|items|metadata):(?:[ \t]|\n)")
_YAML_KEY = lazily(r"(?m)^(?:- )?(?:apiVersion|kind):[ \t]+\S+[ \t]*$")
_DESCRIBED = lazily(r"Name:[ \t]+\S+[ \t]*\n(?:[A-Z][\w -]*:.*\n)*?Namespace:[ \t]+\S+[ \t]*\n")
_KUBE_TABLE = lazily(
    r"(?:NAMESPACE[ \t]+)?(?:LAST SEEN[ \t]+TYPE[ \t]+REASON[ \t]+OBJECT"
    r"|NAME[ \t]+READY[ \t]+STATUS[ \t]+RESTARTS)[ \t]+"
    r"|(?:Events:[ \t]*\r?\n[ \t]*)?Type[ \t]+Reason[ \t]+Age[ \t]+From[ \t]+Message\b"
)
_JSON_LOG_START = lazily(r"\{\s*\"(?:log|MESSAGE|asctime|levelname|_[A-Z_]+|PRIORITY|SYSLOG_[A-Z]+)\"\s*:")

#: What ``nsys stats`` prints before its first table, and the header of one.
_REPORT_START = lazily(
    r"\s*(?:Processing \[|Generating (?:SQLite file|CUDA \w+ Statistics)|NOTICE: Existing SQLite export"
    r"|Exporting \d+ events|Using \S+ (?:for SQL queries|file for stats)|\*\* .{1,80}:\s*\Z|SKIPPED: "
    r"|[A-Z]\w+ .{0,60}Statistics(?: \(\w+\)|:)|\"?Time ?\(%\)\"?(?:  |[,\t])|\"?Start \([a-z]+\)\"?(?:  |[,\t]))"
)
#: What a serving benchmark prints on a terminal, and signs that a server wrote into the same text.
_PRINTED = lazily(
    r"(?m)^(?:={8,} Serving Benchmark Result ={8,}|Traffic request rate: |Starting main benchmark run\.\.\.)"
)
_SMI_TITLE = lazily(r"\s*\|\s*NVIDIA-SMI \d")
#: ``nvidia-smi -q``: its title, and its entries under headings that stand further in.
_SMI_REPORT = lazily(r"=+NVSMI LOG=+\s*\Z")
_SMI_ENTRY = lazily(r"=+NVSMI LOG=|GPU [0-9A-Fa-f]{4,8}:|\S.*\S\s+: | +\S.*\S(?:\s+:(?: .*)?)?\s*\Z")
_SERVED = lazily(r"throughput: |HTTP/1\.1\"|server_args=|(?:Prefill|Decode) batch|non-default args")
_REPORT_HEADER = lazily(r"[ \"]*(?:Time ?\(%\)\"?[,\t ]+\"?Total Time\b|Start \([a-z]+\)\"?[,\t ]+\"?Duration \()")


def sniff(head: bytes) -> tuple[str, str, str]:
    """Judge the first 64 KiB of an input: (kind, state, why it cannot be read).

    ``kind`` is one of "log", "metrics", "json", "yaml", "kubectl", "csv", "reports", "printed", "sqlite", "archive",
    "unknown"; ``state`` is "ok", "empty" or "binary". The reason is "" when the state is "ok".
    """
    if not head.strip(b" \t\r\n"):
        return "unknown", "empty", Sentence("empty: nothing was written to it")
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite", "ok", ""
    if head.startswith(_ZIP) or head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return "archive", "ok", ""
    reason = _binary(head)
    if reason:
        return "unknown", "binary", reason
    text = head.decode("utf-8", "replace").replace("\0", "").lstrip()
    if not text:
        return "unknown", "empty", Sentence("empty: there is nothing but blanks in it")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if len(lines) > 1:
        del lines[-1]  # probably cut
    return _kind(text, [line for line in lines if line.strip()]), "ok", ""


def _kind(text: str, lines: list[str]) -> str:
    if _is_metrics(lines):
        return "metrics"
    if text[0] in "{[" and (kind := _json_kind(text, lines)):
        return kind
    if _YAML_OBJECT.match(text) and len(_YAML_KEY.findall(text[:4096])) >= 2:
        return "yaml"
    if _DESCRIBED.match(text) or _KUBE_TABLE.match(text):
        return "kubectl"
    if _is_csv(lines) or _is_gpu_table(lines):
        return "csv"
    if (_PRINTED.search(text) and not _SERVED.search(text)) or _is_smi_table(lines):
        return "printed"
    if _is_reports(lines):
        return "reports"
    if text[:64].lower().startswith(("<!doctype", "<html", "<?xml")):
        return "unknown"
    return "log"


def _binary(head: bytes) -> str:
    """Say what kind of binary ``head`` is; "" for text."""
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            return what
    # A safetensors file starts with the length of its JSON header.
    if head[8:10] == b'{"' and b"\0" in head[:8]:
        return Sentence("binary: safetensors model weights")
    # NULs at the start are the hole that copy-and-truncate rotation leaves.
    body = head.lstrip(b"\0")
    strange = len(body) - len(body.translate(None, _CONTROL)) + body.decode("utf-8", "replace").count("�")
    if not body or strange > max(4, len(body) * _MAX_STRANGE):
        return Sentence("binary: not text")
    return ""


def _is_metrics(lines: list[str]) -> bool:
    """Tell a Prometheus or OpenMetrics page: nothing but notes and samples; one strange line in ten is forgiven."""
    notes = sum(1 for line in lines if _METRIC_NOTE.match(line))
    samples = sum(1 for line in lines if _METRIC_SAMPLE.match(line))
    others = sum(1 for line in lines if line.startswith("#")) - notes
    # Labels, or a namespace before a colon: a word and a number alone could be any list.
    telling = any("{" in line or ":" in line.partition(" ")[0] for line in lines)
    return (notes > 0 or telling) and notes + samples > 0 and notes + samples + others >= 0.9 * len(lines)


def _json_kind(text: str, lines: list[str]) -> str:
    """Tell "log" (a logger's JSON lines), "json" (any other) and "" (text that only starts with a bracket)."""
    if _JSON_LOG_START.match(text):
        return "log"
    if lines[0].strip() not in ("{", "["):
        for line in lines[:20]:
            if line.startswith(("{", "[")) and (value := _parsed(line)) is not None:
                return "log" if isinstance(value, dict) and _is_log(value) else "json"
    return "json" if _JSON_START.match(text) else ""


def _parsed(line: str) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _is_log(value: dict[str, Any]) -> bool:
    if "MESSAGE" in value or "__REALTIME_TIMESTAMP" in value:
        return True
    keys = {key.lower() for key in value}
    return bool(keys & _TEXT_KEYS) and bool(keys & _STAMP_KEYS)


def _is_reports(lines: list[str]) -> bool:
    """Tell tables of a profiler after each other, with what it says about its work around them."""
    return bool(lines and _REPORT_START.match(lines[0])) and any(_REPORT_HEADER.match(line) for line in lines)


def _is_csv(lines: list[str]) -> bool:
    """Tell a table: a header of column names and rows with as many cells."""
    if not lines:
        return False
    if _SUMMARY.match(lines[0]):
        return True
    for separator in ",\t;":
        header = [cell.strip() for cell in lines[0].split(separator)]
        if len(header) < 2 or not all(_COLUMN.match(cell) for cell in header):
            continue
        import csv  # few inputs come this far

        try:
            rows = list(csv.reader(lines[1:40], delimiter=separator))
        except csv.Error:
            continue
        fitting = sum(1 for row in rows if len(row) == len(header))
        if fitting >= 0.9 * len(rows) and (rows or len(header) > 2):
            return True
    return False


def _is_smi_table(lines: list[str]) -> bool:
    """Tell what nvidia-smi prints: its title, and next to nothing but lines of its table or report."""
    if any(_SMI_REPORT.match(line) for line in lines[:40]):
        return sum(_SMI_ENTRY.match(line) is not None for line in lines) >= 0.8 * len(lines)
    if not any(_SMI_TITLE.match(line) for line in lines[:40]):
        return False
    return sum(line.lstrip().startswith(("|", "+")) for line in lines) >= 0.8 * len(lines)


def _is_gpu_table(lines: list[str]) -> bool:
    """Tell GPU figures whose header comes late, comes again, or was left out; a log that quotes some is none."""
    heads = [line for line in lines[:40] if _GPU_HEAD.match(line.strip()) and _GPU_WORD.search(line.strip())]
    heads += [line for line in lines[:5] if _GPU_QUERY.search(line)]
    if not heads and not (lines and _GPU_ROW.match(lines[0])):
        return False
    if any(line.lstrip().startswith("#") for line in heads):
        fitting = [line for line in lines if line.lstrip().startswith("#") or _DMON_ROW.fullmatch(line.strip())]
        return len(fitting) >= 0.6 * len(lines)
    sizes = {len(_SEPARATOR.split(head)) for head in (heads or lines[:1])}
    sizes |= {len(query[1].split(",")) for head in heads if (query := re.search(r"--query-gpu[= ](\S+)", head))}
    return sum(_fits(line, sizes) for line in lines) >= 0.6 * len(lines)


def _fits(line: str, sizes: set[int]) -> bool:
    """Tell a row: as many cells as the header, more where numbers have decimal commas, or amd-smi's lists in quotes."""
    cells = len(_SEPARATOR.split(line))
    return cells in sizes or (cells > max(sizes) and line.lstrip()[:1].isdigit()) or "\"['" in line or '"[' in line
