"""Every output format on one fixed report."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys

import pytest
from fixed_report import HOSTILE, SECRETS, finding, healthy, report, run

from diagnoser import reports
from diagnoser.contracts.findings import Evidence, Report
from diagnoser.reports import RenderOptions, safe
from diagnoser.reports.excerpt import excerpt, stems
from diagnoser.reports.layout import cells, cut, cut_left, wrap
from diagnoser.reports.redact import mask
from diagnoser.reports.sparkline import sparkline
from diagnoser.reports.units import elapsed, number, percent, span
from diagnoser.times import duration

FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def text(width: int = 80, given: Report | None = None, **options: bool) -> str:
    return reports.get("text").render(given or report(), RenderOptions(width=width, **options))


class TestRegistry:
    def test_the_folder_is_the_list(self) -> None:
        assert {"text", "json", "markdown"} <= set(reports.formats())
        assert all(one.DESCRIPTION for one in reports.formats().values())

    def test_unknown_format_names_the_nearest(self) -> None:
        with pytest.raises(reports.UnknownFormatError, match="did you mean json"):
            reports.get("jsno")

    @pytest.mark.parametrize("name", ["safe", "layout", "base", "../cli", ""])
    def test_a_helper_is_no_format(self, name: str) -> None:
        with pytest.raises(reports.UnknownFormatError):
            reports.get(name)

    @pytest.mark.parametrize("name", sorted(reports.formats()))
    def test_every_format_survives_every_report(self, name: str) -> None:
        nothing = dataclasses.replace(healthy(), runs=[], stages=[], checklist=[], unknown=[], inputs=[], healthy=None)
        for given in (report(), healthy(), nothing, dataclasses.replace(healthy(), healthy=None)):
            out = reports.get(name).render(given, RenderOptions())
            assert out.endswith("\n")
            assert out == reports.get(name).render(given, RenderOptions())


class TestText:
    @pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 160])
    @pytest.mark.parametrize("verbose", [False, True])
    def test_nothing_leaves_the_page(self, width: int, verbose: bool) -> None:
        for line in text(width, verbose=verbose).splitlines():
            # A command is never broken inside a word: it is there to be pasted.
            assert cells(line) <= width or " " not in line.strip().removesuffix("\\").strip(), line

    def test_plain_unless_asked(self) -> None:
        assert "\x1b" not in text()
        painted = text(color=True)
        assert "\x1b[" in painted
        bare = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", painted).splitlines()) + "\n"
        assert bare == text()

    def test_ascii(self) -> None:
        out = text(given=dataclasses.replace(report(), findings=report().findings[:3]), unicode=False)
        assert out.isascii(), [char for char in out if not char.isascii()]
        assert "256 (default) -> 160" in out

    def test_order_of_what_is_told(self) -> None:
        out = text(100)
        order = (
            "vLLM 0.12.0", "meta-llama/Llama-3.1-8B-Instruct", "run 2 of 2", "18,204 lines", "247 stat samples",
            "memory CAUSE", "running ", "= limit", "CRITICAL  The KV cache is full", "memory.kv_cache_exhausted",
            "root cause · certain", "server.log:8123  10:19:03", "explains  scheduling.queue_saturation",
            "memory.preemption_thrash", "fix, one at a time", "--max-num-seqs    256 (default) → 160", "costs:",
            "verify", "2  INFO", "next experiment", "- --max-num-seqs 256", "+ --max-num-seqs 160", "vllm serve",
            "not observed", "not recognised", "checklist", "D2 FAIL", "not readable",
        )  # fmt: skip
        at = 0
        for words in order:
            found = out.find(words, at)
            assert found >= 0, f"{words!r} is missing after {out[max(0, at - 80) : at]!r}"
            at = found

    def test_consequences_are_no_rivals(self) -> None:
        out = text()
        assert re.findall(r"^(\d)  ", out, re.MULTILINE) == ["1", "2"]

    def test_the_proof_is_in_the_excerpt(self) -> None:
        for width in (80, 120):
            row = next(row for row in text(width).splitlines() if "server.log:8123" in row)
            assert "KV cache usage: 100.0%" in row
            assert "Preemptions: 37" in row

    def test_command_can_be_pasted(self) -> None:
        out = text(80)
        start = out.index("vllm serve")
        command = out[start : out.index("\n\n", start)].replace("\\\n", " ")
        assert report().plan
        assert command.split() == report().plan.command.split()  # type: ignore[union-attr]

    def test_verbose_shows_all_evidence(self) -> None:
        assert "server.log:9501" not in text()
        assert "server.log:9501" in text(verbose=True)

    def test_healthy_says_how_hard_it_looked(self) -> None:
        out = text(given=healthy())
        assert out.startswith("Nothing found\nvLLM 0.12.0")
        assert "31 rules looked and found nothing; 12 could not look, see what was not observed." in out
        assert "KV use" in out

    @pytest.mark.parametrize("width", [50, 80, 120])
    def test_the_first_line_is_the_answer(self, width: int) -> None:
        first = text(width).split("vLLM 0.12.0")[0]
        assert " ".join(first.split()) == "CRITICAL: The KV cache is full and requests are preempted"

    def test_a_fault_that_ends_a_server_in_order_is_told(self) -> None:
        given = report()
        runs = [dataclasses.replace(one, end="clean") for one in given.runs]
        broken = dataclasses.replace(given, runs=runs)
        for name in ("text", "markdown"):
            assert "run 2 of 2, stopped after a fault" in reports.get(name).render(broken, RenderOptions(width=160))
        assert "run 1 of 1, stopped in order" in text(160, dataclasses.replace(healthy(), runs=[run(0, end="clean")]))

    def test_an_unseen_start_is_not_where_a_log_ends(self) -> None:
        for seen, told in ((True, "the log ends during start-up"), (False, "its end is not in the log")):
            one = dataclasses.replace(run(0, end="cut"), complete_start=seen)
            assert told in text(160, dataclasses.replace(healthy(), runs=[one]))

    def test_the_engine_stands_before_its_router(self) -> None:
        given = report()
        worst = dataclasses.replace(given.findings[0], runs=[one.id for one in given.runs])
        runs = [given.runs[0], dataclasses.replace(given.runs[1], engine="vllm-router")]
        out = text(160, dataclasses.replace(given, runs=runs, findings=[worst]))
        assert "run 1 of 2" in out.splitlines()[1]

    def test_titles_of_consequences_are_whole(self) -> None:
        words = " ".join(text(60).split())
        for one in report().findings:
            assert one.title in words

    def test_files_with_the_same_fault_share_a_line(self) -> None:
        first = healthy().inputs[0]
        others = [dataclasses.replace(first, name=f"m-{i}.prom", kind="metrics", problems=["unread"]) for i in range(9)]
        out = text(100, dataclasses.replace(healthy(), inputs=[*others, first]))
        assert "m-0.prom and 8 more: unread" in out
        assert out.index(first.name) < out.index("m-0.prom")
        assert "m-7.prom" in text(100, dataclasses.replace(healthy(), inputs=[*others, first]), verbose=True)

    def test_too_little_is_not_healthy(self) -> None:
        assert "Too little can be seen" in text(given=dataclasses.replace(healthy(), healthy=None))

    def test_no_server_at_all(self) -> None:
        out = text(given=dataclasses.replace(healthy(), runs=[], healthy=None))
        assert "Nothing here is the log or another trace of an inference server" in out
        assert "rules looked" not in out

    def test_crash_loop_is_short(self) -> None:
        runs = [run(i, end="crash") for i in range(300)]
        out = text(given=dataclasses.replace(report(), runs=runs))
        assert out.count("crashed") < 20
        assert "more like these" in out

    def test_cycle_of_explanations_ends(self) -> None:
        ring = [
            finding("memory.a", "A", explained_by="memory.b", role="consequence"),
            finding("memory.b", "B", explained_by="memory.a", role="consequence"),
            finding("memory.c", "C", explained_by="memory.c"),
        ]
        assert "C" in text(given=dataclasses.replace(report(), findings=ring))

    def test_fast_and_without_rich_when_plain(self) -> None:
        code = (
            "import sys, time; sys.path.insert(0, 'tests'); from fixed_report import report\n"
            "from diagnoser.reports import get, RenderOptions\n"
            "given = report(); get('text').render(given, RenderOptions()); get('json').render(given, RenderOptions())\n"
            "assert not any(name.startswith('rich') for name in sys.modules)\n"
            "t = time.process_time(); get('text').render(given, RenderOptions(color=True))\n"
            "print(time.process_time() - t)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        # 0.06 s is the aim; three times that keeps a busy machine from failing it.
        assert float(done.stdout) < 0.18


class TestJson:
    def test_contract(self) -> None:
        out = reports.get("json").render(report(), RenderOptions())
        data = json.loads(out)
        assert list(data) == [field.name for field in dataclasses.fields(Report)]
        assert data["schema_version"] == "1.5"
        assert [one["id"] for one in data["findings"]] == [one.id for one in report().findings]
        assert data["findings"][0]["evidence"][0]["line"] == 8123
        assert "é" in reports.get("json").render(
            dataclasses.replace(report(), findings=[finding("a.b", "é")]), RenderOptions()
        )

    def test_not_a_number_is_null(self) -> None:
        given = dataclasses.replace(report(), runs=[run(0, stats_interval=float("nan"))])
        assert json.loads(reports.get("json").render(given, RenderOptions()))["runs"][0]["stats_interval"] is None


class TestHostile:
    @pytest.mark.parametrize("name", sorted(reports.formats()))
    def test_no_control_reaches_the_reader(self, name: str) -> None:
        out = reports.get(name).render(report(), RenderOptions(width=120, verbose=True, unrecognised=True))
        allowed = out.replace("@\u200b", "@").replace("://\u200b", "://")
        assert not FORBIDDEN.search(allowed), FORBIDDEN.findall(allowed)
        out.encode("utf-8")

    @pytest.mark.parametrize("name", sorted(reports.formats()))
    def test_secrets_are_masked(self, name: str) -> None:
        out = reports.get(name).render(report(), RenderOptions(width=160, verbose=True))
        for secret in ("aaaabbbb", "second-secret", "hf_ABC", "IOSFODNN7", "hunter22", "abcdefghijklmnop"):
            assert secret not in out

    def test_every_string_of_a_report_may_be_hostile(self) -> None:
        bad = "\x1b[2J\u202e\n# x\n```\n<b>"
        one = finding(
            bad,
            bad,
            meaning=bad,
            impact=bad,
            window=bad,
            verify=bad,
            confidence="likely",
            evidence=[Evidence(bad, 1, bad, bad)],
        )
        given = dataclasses.replace(
            report(),
            findings=[one],
            runs=[run(1, engine=bad, engine_version=bad, stream=bad, facts={"model.name": bad})],
        )
        for name in reports.formats():
            out = reports.get(name).render(given, RenderOptions(verbose=True))
            assert not FORBIDDEN.search(out.replace("\u200b", "")), name

    def test_markdown_stays_in_its_fence(self) -> None:
        out = reports.get("markdown").render(report(), RenderOptions())
        lines, fence = out.splitlines(), ""
        outside = []
        for line in lines:
            if not fence and (found := re.match(r"`{3,}", line)):
                fence = found.group()
            elif fence and line.rstrip() == fence:
                fence = ""
            elif not fence:
                outside.append(line)
        assert not fence
        assert not any("<script>" in line or line.startswith("# heading") or "@everyone" in line for line in outside)

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [
            ("a\tb", "a b"),
            ("\x1b[31m", "\\x1b[31m"),
            ("\u202e", "\\u202e"),
            ("a\nb", "a\\nb"),
            ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301"),
            ("\u3164", "\\u3164"),
            ("\ud800", "\\ud800"),
            ("\U000e0041", "\\U000e0041"),
            ("日本語", "日本語"),
        ],
    )
    def test_line(self, given: str, wanted: str) -> None:
        assert safe.line(given) == wanted

    def test_code_span_cannot_be_left(self) -> None:
        assert safe.code("a`b``c") == "```a`b``c```"
        assert safe.code("`x") == "`` `x ``"
        assert safe.fence(["````"]).splitlines()[0] == "`````text"

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [("1. x", "\u200b1. x"), ("- x", "\\- x"), ("a-b 1.5", "a-b 1.5"), ("<b>[x](y)", "\\<b\\>\\[x\\](y)")],
    )
    def test_markdown_prose(self, given: str, wanted: str) -> None:
        assert safe.markdown(given) == wanted


class TestRedact:
    @pytest.mark.parametrize(
        "secret",
        [
            "sk-ant-api03-AbCdEfGhIjKlMnOp", "hf_abcdefghijklmnopqrst", "ghp_abcdefghijklmnopqrst",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def", "api_key='topsecret1'",
            "'api_key': ['one-key', 'two-key']",
            "--api-key topsecret1", "password=topsecret1",
            "Authorization: Bearer topsecret1", "https://u:topsecret1@host/x",
            "https://host/x?token=topsecret1", "OPENAI_API_KEY=topsecret1", "AWS_SECRET_ACCESS_KEY: topsecret1",
            "hf_token='topsecret1'", "secret: topsecret1",
            "private_key: topsecret1",
        ],
    )  # fmt: skip
    def test_masked(self, secret: str) -> None:
        out = mask(f"before {secret} after")
        assert "***" in out
        assert "after" in out
        assert "before" in out
        for value in ("topsecret1", "AbCdEf", "abcdefghijklmnop", "IOSFODNN7", "eyJzdWIi", "one-key", "two-key"):
            assert value not in out

    @pytest.mark.parametrize(
        "line",
        [
            "token usage: 0.98, #token: 12345, #queue-req: 3", "max_tokens=512 tokenizer='m' num_tokens: 5",
            "api_key=None",
            "'api_key': None, 'hf_token': None", "Avg prompt throughput: 1.0 tokens/s", "http://0.0.0.0:8000/health",
            "tcp://10.0.0.1:29500 init", "served_model_name=['a'] secretary", "task-sk-1", "api_key=[]",
            "line 409, in hf_raise_for_status",
        ],
    )  # fmt: skip
    def test_left_alone(self, line: str) -> None:
        assert mask(line) == line

    def test_masking_twice_changes_nothing(self) -> None:
        once = mask(SECRETS + HOSTILE)
        assert mask(once) == once


class TestParts:
    def test_excerpt_is_cut_to_the_width(self) -> None:
        line = (
            "INFO 07-12 10:00:00 [core.py:1] " + "x " * 200 + "CUDA out of memory. Tried to allocate 2 GiB" + " y" * 200
        )
        out = excerpt(line, stems("The GPU is out of memory"), 60)
        assert cells(out) <= 60
        assert "out of memory" in out

    def test_excerpt_of_a_traceback_is_its_telling_line(self) -> None:
        trace = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: KV cache is too small'
        assert excerpt(trace, stems("KV cache too small"), 80) == "ValueError: KV cache is too small"
        trace = '  File "kv_cache.py", line 4, in init_cache_memory\nRuntimeError: Not enough memory.'
        assert (
            excerpt(trace, stems("Too little memory is left for the KV cache"), 80)
            == "RuntimeError: Not enough memory."
        )

    def test_wide_letters_count_twice(self) -> None:
        assert cells("日本") == 4
        assert cut("日本語日本語", 7) == "日本語…"
        assert cut_left("/a/long/path/server.log", 11) == "…server.log"
        assert wrap("日本語日本語", 8) == ["日本語日", "本語"]

    def test_sparkline(self) -> None:
        assert sparkline([0, None, 0.5, 1], 1.0) == "▁-▅█"
        assert sparkline([0, None, 0.5, 1], 1.0, unicode=False).isascii()
        assert sparkline([0, 0], 0) == "▁▁"

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [(0.35, "350 ms"), (41 * 60 + 17, "41 min"), (89, "1 min 29 s"), (7800, "2 h 10 min"), (90000, "1 d 1 h")],
    )
    def test_duration(self, given: float, wanted: str) -> None:
        assert duration(given) == wanted

    def test_numbers(self) -> None:
        assert [number(1890.4), number(37.5), number(256.0), number(0.042)] == ["1,890", "37.5", "256", "0.042"]
        assert [percent(0.968), percent(0.998), percent(1.0), percent(0.001)] == ["97 %", "99.8 %", "100 %", "0.1 %"]

    def test_spans(self) -> None:
        assert span("07-12 10:00:03", "07-12 10:41:20") == "07-12 10:00:03 - 10:41:20 (41 min)"
        assert elapsed("12-31 23:59:00", "01-01 00:01:00") == 120
        assert elapsed("23:59:00", "00:01:00") == 120
        assert span(None, None) == ""
