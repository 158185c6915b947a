"""The report as a page, without a browser: self-contained, escaped, bounded, and every phrase of it translatable."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
import serverlogs as logs
from fixed_report import report as fixed
from serverlogs import compiled, encoded

from diagnoser.api import Options, Session
from diagnoser.cli import main
from diagnoser.reports import RenderOptions, get
from diagnoser.reports.html import page

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
TEMPLATES = ROOT / "diagnoser" / "reports" / "html" / "templates"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def cache() -> Path:
    return compiled()


@pytest.fixture
def run(cache: Path, tmp_path: Path) -> Run:
    """Write a page with the command and return it."""

    def call(*inputs: str, code: int = 0) -> str:
        out = tmp_path / "report.html"
        words = ["--cache-dir", str(cache), "--exit-zero", "-q", "--format", "html", "-o", str(out), *inputs]
        assert main(words) == code
        return out.read_text(encoding="utf-8")

    return call


class Reader(HTMLParser):
    """Elements, texts and attributes of a page; the contents of scripts apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.raw: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in ("script", "style"):
            self.raw.append((inside, data))
        else:
            self.texts.append(data)


def data_of(text: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    loaded: dict[str, list[dict[str, object]]] = json.loads(found.group(1))
    return loaded


def test_nothing_is_fetched_and_nothing_else_runs(run: Run) -> None:
    text = run(str(SAMPLES / "kv-cache-exhausted"))
    read = Reader(text)
    assert not read.open, "every element is closed"
    assert {tag for tag, _ in read.tags} & {"img", "iframe", "object", "embed", "base", "form", "video"} == set()
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")], tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), attributes
    styles = "".join(content for kind, content in read.raw if kind == "style")
    assert "url(" not in styles
    assert "@import" not in styles
    policy = next(one["content"] or "" for tag, one in read.tags if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    shown = [part for part in read.raw if not part[1].startswith("{")]
    assert len(shown) == 3, "the charts' library, the page's script, one style"
    for kind, content in shown:
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src" in policy
        assert f"'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    ("sample", "charts", "says"),
    [
        ("kv-cache-exhausted", 6, ["The KV cache is full and requests wait", "--max-num-seqs", "139", "Verify"]),
        ("gpu-throttling", 10, ["GPU clock", "gpu 1"]),
        ("metrics-kv-exhausted", 8, ["Latency, mean", "vllm:num_preemptions_total"]),
        ("bad-flag", 0, ["run 3 of 3", "--max-num-sequences"]),
        ("healthy-vllm", 5, ["rules looked and found nothing"]),
        ("tail-over-objective", 0, ["p99"]),
    ],
)
def test_samples(run: Run, sample: str, charts: int, says: list[str]) -> None:
    slo = ("--slo", "ttft=500ms,tpot=50ms") if sample == "tail-over-objective" else ()
    text = run(str(SAMPLES / sample), *slo)
    drawn = data_of(text)["runs"]
    assert sum(len(one["charts"]) for one in drawn) == charts  # type: ignore[arg-type]
    words = " ".join(" ".join(Reader(text).texts).split()) + json.dumps(data_of(text))
    for said in says:
        assert said in words, said


def test_charts_are_bounded_and_keep_what_matters(tmp_path: Path, run: Run) -> None:
    rows = (logs.stats(60 + 7 * at, running=at % 90, waiting=at % 7, used=0.5) for at in range(7000))
    lines = [*logs.vllm_start(), *rows]
    (tmp_path / "long.log").write_bytes(encoded(lines))
    text = run(str(tmp_path / "long.log"))
    assert len(text) < 400_000
    (one,) = data_of(text)["runs"]
    for chart in one["charts"]:  # type: ignore[attr-defined]
        assert 50 < len(chart["x"]) <= 250
        assert all(len(curve["y"]) == len(chart["x"]) for curve in chart["curves"])


def test_many_runs_and_findings_stay_small(tmp_path: Path, run: Run) -> None:
    for at in range(60):
        (tmp_path / f"replica-{at}.log").write_bytes(encoded(logs.LOGS["vllm death"]))
    text = run(*(str(path) for path in sorted(tmp_path.glob("*.log"))))
    assert len(text) < 1_500_000
    assert len(data_of(text)["runs"]) <= 8


EVIL = (
    "</script><script>window.pwned=1</script><img src=x onerror=alert(1)> <!-- {{ 7*7 }} \u2028 \u202e "
    "hf_ABCDEFGHIJKLMNOPQRSTUVWX \x1b]0;x\x07"
)


def hostile(folder: Path) -> Path:
    """Write a log whose every message, and whose name, tries to become markup."""
    lines = (SAMPLES / "engine-killed" / "server.log").read_text(encoding="utf-8").splitlines()
    bad = [f"{one} {EVIL}" if "ERROR" in one or "exited unexpectedly" in one else one for one in lines]
    bad.insert(40, f"(APIServer pid=1) ERROR 11-12 03:22:10 [serving.py:9] strange failure {EVIL}")
    text = "\n".join(bad).replace("acme/Qwen3-8B", 'acme/<b>Q</b>"onload=x')
    path = folder / "<img src=x onerror=alert(2)>.log"
    path.write_text(text, encoding="utf-8")
    return path


def test_log_text_stays_text(tmp_path: Path, run: Run) -> None:
    text = run(str(hostile(tmp_path)))
    read = Reader(text)
    assert not {tag for tag, _ in read.tags} & {"img", "b>Q"}
    assert sum(tag == "script" for tag, _ in read.tags) == 3
    assert "<img src=x onerror=alert(1)>" in " ".join(read.texts), "shown as it was written"
    assert "{{ 7*7 }}" in " ".join(read.texts)
    assert "49" not in [one.strip() for one in read.texts]
    assert "hf_ABCD" not in text
    assert not set(text) & set("\u2028\u202e\x1b\x07")


def test_the_value_of_a_secret_flag_is_no_part_of_the_page(tmp_path: Path, run: Run) -> None:
    text = (SAMPLES / "kv-cache-exhausted" / "server.log").read_text(encoding="utf-8")
    told = text.replace("non-default args: {", "non-default args: {'api_key': ['hunter22secret'], ")
    assert told != text
    (tmp_path / "server.log").write_text(told, encoding="utf-8")
    assert "hunter22" not in run(str(tmp_path / "server.log"))


def test_embedded_data_cannot_break_out() -> None:
    value = {"title": "</script><!-- \u2028 & > <script>", "y": [1.0, None, float("nan")]}
    text = page.embedded(value)
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == {"title": "</script><!-- \\u2028 & > <script>", "y": [1, None, None]}


def test_lines_around_evidence(tmp_path: Path) -> None:
    report = Session([str(SAMPLES / "engine-killed")], knowledge=logs.knowledge())
    (first, *_) = report.report.findings[0].evidence
    lines = report.story().around[first.source, first.line]
    assert [number for number, _ in lines] == list(range(first.line - 4, first.line + 6))
    assert any(first.text[:30] in text for number, text in lines if number == first.line)


def test_lines_around_evidence_of_a_pipe(tmp_path: Path) -> None:
    data = (SAMPLES / "kv-cache-exhausted" / "server.log").read_bytes()
    session = Session(["-"], stdin=io.BytesIO(data), options=Options(since="20m"), knowledge=logs.knowledge())
    shown = {(one.source, one.line) for finding in session.report.findings for one in finding.evidence}
    assert set(session.story().around) == shown


def test_no_lines_of_a_file_that_is_another_by_now(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes((SAMPLES / "engine-killed" / "server.log").read_bytes())
    session = Session([str(path)], knowledge=logs.knowledge())
    path.write_bytes(b"INFO 11-12 09:00:00 [x.py:1] rotated\n" * 500)
    assert session.story().around == {}
    path.unlink()
    assert session.story().around == {}


def test_other_formats_do_not_pay(
    monkeypatch: pytest.MonkeyPatch, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(self: Session) -> None:
        raise AssertionError("only a format that asks for the story pays for it")

    monkeypatch.setattr(Session, "story", never)
    for name in ("text", "json", "markdown"):
        assert main(["--cache-dir", str(cache), "--exit-zero", "--format", name, str(SAMPLES / "bad-flag")]) == 0
    capsys.readouterr()


def test_a_report_without_a_story_is_a_page_too() -> None:
    text = get("html").render(fixed(), RenderOptions())
    assert "Findings" in " ".join(Reader(text).texts)


def test_equal_inputs_give_equal_pages(run: Run) -> None:
    assert run(str(SAMPLES / "dp-imbalance")) == run(str(SAMPLES / "dp-imbalance"))


#: Texts of the page that are names and no words.
NAMES = {"diagnose", "diagnose:", "diagnoser", "p50", "p90", "p99"}


def test_every_phrase_of_the_templates_can_be_translated() -> None:
    found = []
    for path in sorted(TEMPLATES.glob("*.html")):
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        words = re.sub(r"<[^<>]*>|&\w+;", " ", text).split()
        found += [f"{path.name}: {word}" for word in words if re.search("[A-Za-z]{2}", word) and word not in NAMES]
    assert not found, "not through say()"
