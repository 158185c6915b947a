"""Other languages: every text is translated, says the same as the English one, and changes nothing but texts."""

from __future__ import annotations

import gzip
import html
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from serverlogs import compiled

from diagnoser import reports
from diagnoser.api import Knowledge, Options, Session, UsageError
from diagnoser.commands import _followlines, _languagefiles, rules
from diagnoser.commands._errors import CommandError
from diagnoser.commands._livescreen import View, picture
from diagnoser.commands._options import parser
from diagnoser.contracts.findings import Answered, Report
from diagnoser.following import Change
from diagnoser.following.changes import Tracker
from diagnoser.judging.loading import in_language
from diagnoser.knowledge.paths import rules_dir
from diagnoser.language import ENGLISH, Say, Sentence
from diagnoser.reports import RenderOptions, layout, llm
from diagnoser.reports.words import current, proposed
from diagnoser.rules.errors import RuleBaseError
from diagnoser.rules.packs import sources
from diagnoser.rules.translating import FOLDER, holes, languages, load, pairs, texts, translated
from diagnoser.sides import compared

ROOT = Path(__file__).parent.parent
LANGUAGES = [code for code in languages([rules_dir()]) if code != "en"]
SAMPLES = ("kv-cache-exhausted", "gpu-throttling", "dp-ranks-apart", "no-node-for-pod", "tail-over-objective")
#: Fields of the report that are prose; everything else is the same in every language.
PROSE = {"title", "meaning", "impact", "window", "text", "tradeoff", "verify", "action", "reason", "needs"}
PROSE |= {"notes", "note"}


@pytest.fixture(scope="module")
def english(knowledge: Knowledge) -> Knowledge:
    return knowledge


@pytest.fixture(scope="module")
def chinese() -> Knowledge:
    return Knowledge(Options(lang="zh", cache_dir=compiled()))


def read(code: str) -> dict[str, str]:
    """Return a language's table as its files have it."""
    out: dict[str, str] = {}
    for path in sorted((rules_dir() / FOLDER / code).rglob("*.yaml")):
        for text, said in pairs(path, code, []):
            assert text not in out, f"{path}: translated twice: {text}"
            out[text] = said
    return out


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_text_is_translated_and_none_is_stale(code: str, english: Knowledge) -> None:
    wanted = _languagefiles.shipped(english.base, english.vocabulary)
    missing, stale, _ = _languagefiles.renew(code, rules_dir(), wanted, check=True)
    told = f"run: diagnose rules translate {code}, then fill in what is empty in rules/lang/{code}"
    assert not missing and not stale, "\n".join(
        [told, *(f"missing: {t}" for t in missing), *(f"stale: {t}" for t in stale)]
    )


@pytest.mark.parametrize("code", LANGUAGES)
def test_translations_keep_what_the_english_texts_name(code: str) -> None:
    """Flags, variables, paths and numbers are the same; a changed number would send somebody the wrong way."""
    wrong = []
    for text, said in read(code).items():
        outside = [re.sub(r"\{[^{}]*\}", "", one) for one in (text, said)]
        for kind, shape in (
            ("flags and variables", r"--[a-z][\w-]+|\b[A-Z]{2,}_[A-Z_0-9]+"),
            # "P2P" is the Chinese for peer access.
            ("numbers", r"(?<![\w.])\d+(?:\.\d+)*(?![\w])"),
        ):
            there, here = (Counter(re.findall(shape, one)) for one in outside)
            if set(there) != set(here) or (kind == "numbers" and there != here):
                wrong.append(f"{kind}: {sorted(there.elements())} against {sorted(here.elements())}: {text}")
    assert not wrong, "\n".join(wrong)


def test_clauses_of_an_impact_stay_clauses(english: Knowledge) -> None:
    """A clause whose value is unknown is left out: the same values share a clause in every language."""
    for code in LANGUAGES:
        say = load(code, [rules_dir()])
        for rule in english.base.rules.values():
            said = say(rule.impact)
            there = [holes(clause) for clause in rule.impact.split("; ")]
            here = [holes(clause) for clause in said.split("\uff1b" if "\uff1b" in said else "; ")]
            assert there == here, (rule.id, said)


def test_texts_without_holes_are_different_for_different_words(chinese: Knowledge) -> None:
    """Levels, states and stages stay apart."""
    words = ["critical", "warning", "info", "CAUSE", "suspect", "ok", "unknown", "n/a", "pass", "FAIL"]
    assert len({chinese.say(word) for word in words}) == len(words)


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_but_texts_changes(name: str, english: Knowledge, chinese: Knowledge) -> None:
    folder = sorted(path for path in (ROOT / "samples" / name).iterdir() if path.name != "expected.yaml")
    slo = {"ttft": 0.5}
    one, other = (Session(folder, knowledge=k, options=Options(slo=slo)).report for k in (english, chinese))
    documents = [json.loads(reports.get("json").render(report, RenderOptions())) for report in (one, other)]
    assert _bare(documents[0]) == _bare(documents[1])
    assert documents[0]["findings"][0]["title"] != documents[1]["findings"][0]["title"]
    for width in (60, 80, 100):
        page = reports.get("text").render(other, RenderOptions(width=width, say=chinese.say))
        assert max(map(layout.cells, page.splitlines())) <= width
    assert all(line[:1] not in "\uff0c\u3002\uff1b\uff09" for line in map(str.strip, page.splitlines()) if line)
    for form in ("text", "markdown"):
        assert reports.get(form).render(one, RenderOptions(say=ENGLISH)) == reports.get(form).render(
            one, RenderOptions()
        )


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "" if key in PROSE else _bare(item) for key, item in value.items()}
    return [_bare(item) for item in value] if isinstance(value, list) else value


class Masked(Say):
    """A language of dots: what is left in a page is data, or a phrase that nobody says."""

    __slots__ = ()

    def __call__(self, text: str) -> str:
        return "".join(
            part if part.startswith("{") else re.sub("[A-Za-z]", "·", part) for part in re.split(r"(\{[^}]*\})", text)
        )


#: Words of a page that are names, or the same in every language; those by which programs read a digest.
NAMES = {"diagnose", "diagnoser", "explain", "text", "diff", "min", "tok", "bytes", "log", "plain", "uPlot"}
COMMANDS = {"file", "line", "title", "error", "warning", "notice"}
DIGEST = set(re.findall("[a-z]{3,}", " ".join(llm.WORDS.values()))) | {
    *("verdict", "server", "run", "stages", "rules", "cause", "impact", "window", "fix", "fixes", "proof", "proofs"),
    *("next", "command", "unknown", "message", "left", "out", "readable"),
}


@pytest.mark.parametrize("name", ["kv-cache-exhausted", "dp-ranks-apart", "tail-over-objective", "bad-flag"])
def test_every_word_of_a_page_is_said_or_data(name: str, english: Knowledge) -> None:
    folder = sorted(path for path in (ROOT / "samples" / name).iterdir() if path.name != "expected.yaml")
    session = Session(folder, knowledge=english, options=Options(slo={"ttft": 0.5}))
    report = session.report
    report.baseline = compared([report], [report])
    times = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z")
    report.alert = Answered(["a", "b", "c", "d"], "firing", *times, ["pod=x"], ["ns=y"], "memory.host_oom", "")
    # A page that draws also shows lines around the evidence, and events by their names.
    data = reports.get("json").render(report, RenderOptions())
    data += "".join(path.read_text(encoding="utf-8") for path in folder) + " ".join(english.base.events)
    dots = RenderOptions(width=160, verbose=True, say=Masked("dots"), story=session.story())
    for form, options, names in (
        ("text", dots, set()),
        ("text", dots._replace(brief=True), set()),
        ("markdown", dots, set()),
        ("html", dots, set()),
        ("github", dots, COMMANDS),
        ("llm", dots, DIGEST),
    ):
        page = reports.get(form).render(report, options)
        if form == "html":
            page = re.sub(r"<style>.*?</style>|<pre>.*?</pre>|<script>.*?</script>", "", page, flags=re.DOTALL)
            page = _shown(page)
        left = {word for word in re.findall(r"[a-z]{3,}", page) if word not in data}
        assert left <= NAMES | names, form


def _changes(report: Report) -> list[Change]:
    """Return a finding that opens and one that closes."""
    tracker = Tracker(hold=0.0)
    lives = {run.id: (str(run.id), 0) for run in report.runs}
    opened = tracker.look(report.findings, lives, {}, lives.values(), "2026-05-19T08:04:33", 0.0)
    return [*opened, *tracker.look([], lives, {}, [], "2026-05-19T08:05:33", 9.0)]


def test_what_follows_a_log_is_said_too(english: Knowledge, chinese: Knowledge) -> None:
    log = [ROOT / "samples" / "kv-cache-exhausted" / "server.log"]
    one, other = (Session(log, knowledge=k).report for k in (english, chinese))
    lines = [[json.loads(_followlines.for_programs(c, 0.0)) for c in _changes(report)] for report in (one, other)]
    assert _bare(lines[0]) == _bare(lines[1])
    assert [line["event"] for line in lines[1]] == ["opened", "opened", "closed", "closed"]
    assert (lines[1][0]["title"], lines[1][2]["reason"]) == (other.findings[0].title, "gone")
    changes, dots = _changes(one), Masked("dots")
    data = reports.get("json").render(one, RenderOptions()) + log[0].read_text(encoding="utf-8")
    view = View([str(log[0])] * 9, one, changes[:2], changes[2:], 10, 2.0, "05-19 08:05:33", "", [])
    nothing = view._replace(report=None, open=[], closed=[])
    told = [picture(each, RenderOptions(say=dots), 40) for each in (view, nothing)]
    told += [_followlines.for_people(change, dots) for change in changes]
    for page in told:
        assert not {word for word in re.findall("[a-z]{3,}", page) if word not in data}
    assert "\u81ea 08:04:33 \u8d77" in picture(view, RenderOptions(say=chinese.say), 40)
    for width in (60, 100):
        page = picture(view, RenderOptions(width=width, say=chinese.say), 24)
        assert max(map(layout.cells, page.splitlines())) <= width


def test_the_page_names_its_language(chinese: Knowledge) -> None:
    report = Session([ROOT / "samples" / "bad-flag" / "server.log"], knowledge=chinese).report
    pages = [reports.get("html").render(report, RenderOptions(say=say)) for say in (ENGLISH, chinese.say, Say("tlh"))]
    assert [re.findall('<html lang="([^"]*)"', page) for page in pages] == [["en"], ["zh-CN"], ["tlh"]]
    assert ["PingFang SC" in page for page in pages] == [False, True, False]


def test_words_that_programs_look_for_stay(chinese: Knowledge) -> None:
    report = Session([ROOT / "samples" / "bad-flag" / "server.log"], knowledge=chinese).report
    brief = reports.get("text").render(report, RenderOptions(brief=True, say=chinese.say))
    title = report.findings[0].title
    assert brief.startswith(f"VERDICT critical: {title}\nCRITICAL platform.bad_flag certain | {title} | ")
    digest = reports.get("llm").render(report, RenderOptions(say=chinese.say))
    assert f"\nverdict: critical: {title}\n" in digest
    assert f"\ncause 1: platform.bad_flag (critical, certain, root cause): {title}\n" in digest


def _shown(page: str) -> str:
    """Return what a reader of a page sees or hears, and the texts of its charts."""
    drawn = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
    charts = [curve["title"] for run in drawn["runs"] for chart in run["charts"] for curve in chart["curves"]]
    page = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    told = [one or other for one, other in re.findall(r'(?:aria-label|title)="([^"]*)"|>([^<>]*)<', page)]
    return html.unescape(" ".join([*told, *charts, *drawn["words"].values()]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {en: full, de: voll}", None),
        ("- {en: full, de: ''}", None),
        ("full: voll", "expected a list of pairs"),
        ("- {en: full, fr: plein}", "expected a list of pairs"),
        ("- {en: full, de: 3}", "expected text"),
        ("- {en: '{count} more', de: weitere}", "the holes differ from the English text: {count}"),
        ("- {en: '{kv.usage:percent}', de: '{kv.usage:int}'}", "{kv.usage:percent}, {kv.usage:int}"),
        ("- {en: 'a', de: '{'}", "never closed"),
        ("- {en: 'a', de]", "flow mapping"),
    ],
)
def test_a_faulty_file_is_told_with_its_place(text: str, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "lang" / "de").mkdir(parents=True)
    path = tmp_path / "lang" / "de" / "de.yaml"
    path.write_text(text, encoding="utf-8")
    if said is None:
        assert load("de", [tmp_path])("kept") == "kept"
        return
    with pytest.raises(RuleBaseError, match=r"de\.yaml:1:") as error:
        load("de", [tmp_path])
    assert said in str(error.value)


def test_a_folder_of_rules_brings_its_own_language(tmp_path: Path, english: Knowledge) -> None:
    folder = tmp_path / "lang" / "tlh"
    folder.mkdir(parents=True)
    (folder / "any.yaml").write_text("- {en: The KV cache is full and requests wait, tlh: buy'ngop}", encoding="utf-8")
    assert languages([rules_dir(), tmp_path]) == ["en", "tlh", "zh"]
    base = translated(english.base, in_language("tlh", [rules_dir(), tmp_path], None))
    rule = base.rules["memory.kv_cache_exhausted"]
    assert rule.title == "buy'ngop"
    assert rule.meaning.startswith("Every block")  # English where there is nothing else
    assert sources(tmp_path) == ([], [])  # languages are no rules


@pytest.mark.parametrize(
    ("asked", "meant"), [("zn", "; did you mean zh?"), ("zh_CN.UTF-8", "; did you mean zh?"), ("de", "")]
)
def test_an_unknown_language_is_told_with_the_nearest(asked: str, meant: str) -> None:
    with pytest.raises(UsageError) as error:
        Knowledge(Options(lang=asked))
    assert str(error.value) == f"--lang {asked}: unknown language; there are en, zh{meant}"


def test_the_option_has_a_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parser().read(["x.log"]).lang == "en"
    monkeypatch.setenv("DIAGNOSE_LANG", "zh")
    assert parser().read(["x.log"]).lang == "zh"
    assert parser().read(["x.log", "--lang", "en"]).lang == "en"


def test_translating_keeps_conditions_and_ids(english: Knowledge, chinese: Knowledge) -> None:
    assert list(english.base.rules) == list(chinese.base.rules)
    for name, rule in english.base.rules.items():
        other = chinese.base.rules[name]
        assert (rule.when, rule.severity, rule.placeholders) == (other.when, other.severity, other.placeholders)
    assert translated(english.base, ENGLISH).rules == english.base.rules


def test_the_texts_to_translate_hold_what_expressions_say(english: Knowledge) -> None:
    found = texts(english.base, english.vocabulary)
    assert "the server did not start" in found["memory/host_oom.yaml"] + found["memory/gpu_shared.yaml"]
    assert not any(text == "serving" for every in found.values() for text in every)  # it is compared with, not said


def test_the_files_of_a_language_are_renewed(tmp_path: Path) -> None:
    wanted = {"a.yaml": ["one", "two"], "b.yaml": ["three {x}"]}
    assert _languagefiles.renew("de", tmp_path, wanted, check=False) == (["one", "three {x}", "two"], [], 2)
    path = tmp_path / "lang" / "de" / "a.yaml"
    path.write_text("- {en: one, de: eins}\n- {en: gone, de: weg}\n", encoding="utf-8")
    assert _languagefiles.renew("de", tmp_path, wanted, check=True) == (["three {x}", "two"], ["gone"], 0)
    assert _languagefiles.renew("de", tmp_path, {"a.yaml": ["one"]}, check=False) == ([], ["gone", "three {x}"], 2)
    assert path.read_text(encoding="utf-8") == "- en: one\n  de: eins\n"
    assert not (tmp_path / "lang" / "de" / "b.yaml").exists()


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("显存不足", 8, ["显存不足"]),
        ("显存不足，请求排队。", 8, ["显存不", "足，请求", "排队。"]),
        ("调低 --max-num-seqs（默认 256）", 16, ["调低", "--max-num-seqs", "（默认 256）"]),
        ("KV 缓存 full", 9, ["KV 缓存", "full"]),
        ("plain words stay", 11, ["plain words", "stay"]),
    ],
)
def test_wrapping_breaks_between_chinese_characters(text: str, width: int, lines: list[str]) -> None:
    assert layout.wrap(text, width) == lines


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        ("256 (set)", "139", ("256 (已设置)", "139")),
        ("off (default)", "on", ("关 (默认)", "开")),
        ("128 (256 set)", "higher", ("128（设置的是 256）", "更高")),
        ("memory (set)", "cache", ("memory (已设置)", "cache")),  # values of a flag, whatever else the words mean
        ("", "remove", ("", "去掉")),
    ],
)
def test_values_of_flags_stay(now: str, then: str, said: tuple[str, str], chinese: Knowledge) -> None:
    assert (current(now, chinese.say), proposed(then, chinese.say)) == said


def test_a_word_that_is_not_translated_stays_english() -> None:
    say = Say("de", {"full": "voll"})
    assert (say("full"), say("empty"), say.english("voll"), say.english("leer")) == ("voll", "empty", "full", "leer")
    assert say.pair("a", "b") == "a: b"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["translate"], "give the code of one language"),
        (["translate", "en"], "give the code of one language"),
        (["translate", "../zh"], "give the code of one language"),
        (["translate", "de", "--dir", "nowhere"], "--dir nowhere: no such folder"),
    ],
)
def test_translate_refuses_what_it_cannot_do(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        rules.main(arguments)


def test_english_loads_nothing_of_languages() -> None:
    code = (
        "import sys; from diagnoser.commands._diagnose import main; main(sys.argv[1:]); "
        "sys.exit('diagnoser.rules.translating' in sys.modules)"
    )
    log = ROOT / "samples" / "healthy-vllm" / "server.log"
    done = subprocess.run(
        [sys.executable, "-c", code, str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DIAGNOSE_CACHE_DIR": str(compiled())},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


# -- problems of inputs


def test_a_sentence_is_text_that_can_be_said_again() -> None:
    inner = Sentence("{count} rows", count=12_345)
    outer = Sentence("{name}: {what}", name="a{b}", what=inner)
    assert outer == "a{b}: 12,345 rows"
    say = Say("de", {"{count} rows": "{count} Zeilen", "{name}: {what}": "{what} in {name}"})
    assert say.again(outer) == "12,345 Zeilen in a{b}"
    assert say.again(pickle.loads(pickle.dumps(outer))) == say.again(outer)
    assert say.again("{count} rows") == "{count} rows"
    assert ENGLISH.again(outer) is outer
    raised = Sentence("no: {error}", error=ValueError(inner))
    assert say.again(raised) == "no: 12,345 Zeilen"


def test_problems_of_inputs_are_said_in_the_language(tmp_path: Path, english: Knowledge, chinese: Knowledge) -> None:
    """Damage that readers tell of; every word that is no name, number or the system's own is translated."""
    sample = ROOT / "samples/kv-cache-exhausted/server.log"
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(sample.read_bytes())[:-400])
    (tmp_path / "b.prom").write_text("# HELP x y\n" + "".join(f"x_{at} 1\n" for at in range(20)) + "%%\nz 1")
    (tmp_path / "c.log").write_bytes(b"INFO " + b"x" * (1 << 20) + b"\n")
    (tmp_path / "d.csv").write_text("timestamp, index, utilization.gpu [%]\n2026/11/29 10:00:00, 0\n")
    (tmp_path / "e.bin").write_bytes(b"\x7fELF" + bytes(range(64)))
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    inputs = Session(names, knowledge=chinese).report.inputs
    said = {Path(one.name).name: one.problems for one in inputs}
    assert set(said) == {"a.log.gz", "b.prom", "c.log", "d.csv", "e.bin"}
    for name, problems in said.items():
        assert problems and all(re.search("[\u4e00-\u9fff]", text) for text in problems), name
        words = {word for text in problems for word in re.findall(r"[a-z]{4,}", re.sub(r"'[^']*'|/\S+", "", text))}
        assert words <= {"gzip", "server"}, (name, problems)
    english = [one.problems for one in Session(names, knowledge=english).report.inputs]
    assert [len(one.problems) for one in inputs] == [len(one) for one in english]
    assert not re.search("[\u4e00-\u9fff]", str(english))
