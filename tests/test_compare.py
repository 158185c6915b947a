"""Two runs side by side, a good run as baseline, the odd one out: logs written here, through the program's doors."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from serverlogs import compiled

from diagnoser import Options, Report, cli, compare, diagnose
from diagnoser.comparing import saved
from diagnoser.comparing.odd import odd
from diagnoser.comparing.significance import compare as ranks
from diagnoser.reports import RenderOptions, get

ROOT = Path(__file__).parent.parent
OPTIONS = Options(cache_dir=compiled())


def log(
    lines: int = 120,
    gen: float = 1000,
    prompt: float = 3000,
    waiting: int = 20,
    seed: int = 1,
    args: str = "'max_num_seqs': 256",
    version: str = "0.12.0",
    extra: str = "",
) -> str:
    """A vLLM log with steady, independent figures around these levels."""
    noise = random.Random(seed)
    out = [
        f"INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version {version}",
        f"INFO 07-12 10:00:00 [utils.py:240] non-default args: {{'model': 'acme/M', {args}}}",
        "INFO 07-12 10:00:09 [default_loader.py:397] Loading weights took 4.61 seconds",
        *([extra] if extra else []),
        "INFO:     Application startup complete.",
    ]
    for i in range(lines):
        at = 20 + i * 10
        swing = [noise.gauss(1, 0.03) for _ in range(4)]
        out.append(
            f"INFO 07-12 {10 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02} [loggers.py:118] Engine 000: "
            f"Avg prompt throughput: {prompt * swing[0]:.1f} tokens/s, "
            f"Avg generation throughput: {gen * swing[1]:.1f} tokens/s, Running: {int(100 * swing[2])} reqs, "
            f"Waiting: {int(waiting * swing[3])} reqs, GPU KV cache usage: {50 * swing[2]:.1f}%, "
            "Prefix cache hit rate: 40.0%"
        )
    return "\n".join(out) + "\n"


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    def write(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str]:
        names = []
        for name, told in (("before.log", before), ("after.log", after)):
            (tmp_path / name).write_text(log(**told))
            names.append(str(tmp_path / name))
        return names[0], names[1]

    return write


FEWER: dict[str, Any] = {"args": "'max_num_seqs': 160", "seed": 2}


@pytest.mark.parametrize(
    ("before", "after", "verdict", "attribution", "load"),
    [
        ({}, {}, "no difference shown", "nothing differs", "same"),
        ({}, {"seed": 2}, "no difference shown", "nothing differs", "same"),
        ({}, {**FEWER, "gen": 1200, "prompt": 3600}, "better", "attributable", "same"),
        ({}, {**FEWER, "gen": 800, "prompt": 2400}, "worse", "attributable", "same"),
        ({}, {**FEWER, "gen": 1200, "prompt": 3600, "waiting": 40}, "mixed", "attributable", "same"),
        (
            {},
            {**FEWER, "gen": 1200, "prompt": 3600, "args": "'max_num_seqs': 160, 'gpu_memory_utilization': 0.8"},
            "better",
            "not attributable",
            "same",
        ),
        ({}, {"seed": 2, "version": "0.13.0", "gen": 1200, "prompt": 3600}, "better", "attributable", "same"),
        # A port is no part of an experiment.
        ({}, {**FEWER, "args": "'max_num_seqs': 256, 'port': 9000"}, "no difference shown", "nothing differs", "same"),
        # Another mix of requests, and other arrivals at a server that keeps up.
        ({}, {**FEWER, "gen": 2000}, "cannot tell", "not attributable", "differs"),
        (
            {"waiting": 0},
            {**FEWER, "waiting": 0, "gen": 1500, "prompt": 4500},
            "cannot tell",
            "not attributable",
            "differs",
        ),
        ({"waiting": 0}, {**FEWER, "waiting": 0, "gen": 1080, "prompt": 3240}, "cannot tell", "attributable", "same"),
        # Three lines show nothing, however far apart.
        ({"lines": 3}, {**FEWER, "lines": 3, "gen": 5000}, "cannot tell", "attributable", "unknown"),
        ({"lines": 120}, {**FEWER, "lines": 8, "gen": 5000}, "cannot tell", "attributable", "unknown"),
    ],
)
def test_verdict(
    pair: Any, before: dict[str, Any], after: dict[str, Any], verdict: str, attribution: str, load: str
) -> None:
    found = compare(*pair(before, after), options=OPTIONS)
    assert (found.verdict, found.attribution, found.load) == (verdict, attribution, load), found


def test_what_is_told(pair: Any) -> None:
    warning = "WARNING 07-12 10:00:10 [a.py:1] the frobnicator is lukewarm"
    found = compare(*pair({}, {**FEWER, "gen": 1200, "prompt": 3600, "extra": warning}), options=OPTIONS)
    assert found.attribution_text.startswith("attributable to --max-num-seqs 256 -> 160")
    gen = next(one for one in found.figures if one.name == "gen.tps")
    assert gen.state == "higher"
    assert gen.means == "better"
    assert gen.samples == [120, 120]
    assert gen.p is not None
    assert gen.p < 1e-3
    assert [one.text for one in found.messages if "frobnicator" in one.text]
    assert next(one for one in found.boot if one.name == "boot.weights_seconds").after == 4.61


def test_no_p_value_from_a_few_lines(pair: Any) -> None:
    found = compare(*pair({"lines": 3}, {"lines": 3, "gen": 9000}), options=OPTIONS)
    assert all(one.p is None and one.state in ("unknown", "same") for one in found.figures)


def walk(noise: random.Random, memory: float) -> list[float]:
    value, out = noise.gauss(0, 1 / (1 - memory**2) ** 0.5), []
    for _ in range(24):
        out.append(value)
        value = memory * value + noise.gauss(0, 1)
    return out


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.6, 0.9])
def test_chance_alone_is_rarely_shown(memory: float) -> None:
    """Runs of one and the same level, however long their memory: below 2 % pass for different at a level of 0.5 %."""
    noise = random.Random(5)
    shown = [ranks([walk(noise, memory)], [walk(noise, memory)]).p for _ in range(400)]
    assert sum(p is not None and p < 0.005 for p in shown) < 8


def test_a_large_change_is_shown() -> None:
    noise = random.Random(6)
    shown = [ranks([walk(noise, 0)], [[v + 3 for v in walk(noise, 0)]]).p for _ in range(100)]
    assert sum(p is not None and p < 0.005 for p in shown) > 90


class TestSaved:
    def test_a_saved_report_compares_like_its_log(self, pair: Any, tmp_path: Path) -> None:
        names = pair({}, {**FEWER, "gen": 1200, "prompt": 3600})
        fresh = compare(*names, options=OPTIONS)
        kept = []
        for at, name in enumerate(names):
            path = tmp_path / f"{at}.json"
            path.write_text(get("json").render(diagnose(name, options=OPTIONS), RenderOptions()))
            kept.append(path)
        again = compare(*kept, options=OPTIONS)
        assert again.figures == fresh.figures
        assert (again.verdict, again.by, again.configuration) == (fresh.verdict, fresh.by, fresh.configuration)
        assert isinstance(saved.read(kept[0].read_text(), "x"), Report)

    @pytest.mark.parametrize(
        ("name", "content", "told"),
        [
            ("missing.log", None, "no such file or folder"),
            ("other.json", '{"schema_version": "1.0", "x": 1}', "not a report saved with"),
            (
                "new.json",
                '{"schema_version": "2.0", "runs": []}',
                "a report of schema 2.0; this version reads schema 1",
            ),
            ("cut.json", '{"schema_version": "1.1", "runs": [', "not a saved report"),
            ("half.json", '{"schema_version": "1.1", "runs": [{"id": "x"}]}', "not a whole report"),
            ("empty.log", "", "empty"),
            ("prose.txt", "Nothing but prose is in here.\n" * 9, "looks like an inference server's"),
        ],
    )
    def test_bad_input_is_one_line_and_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | None, told: str
    ) -> None:
        good = tmp_path / "good.log"
        good.write_text(log())
        if content is not None:
            (tmp_path / name).write_text(content)
        for sides in ([str(good), str(tmp_path / name)], [str(tmp_path / name), str(good)]):
            assert cli.main(["compare", "-q", "--cache-dir", str(compiled()), *sides]) == 2
            said = capsys.readouterr()
            assert told in said.err
            assert said.err.count("\n") == 1
            assert not said.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--fail-on", "worse"], 1),
        (["--fail-on", "unclear"], 1),
        (["--fail-on", "wrose"], 2),
        (["--format", "json"], 0),
        (["--format", "markdown"], 0),
    ],
)
def test_exit_codes(pair: Any, capsys: pytest.CaptureFixture[str], words: list[str], code: int) -> None:
    before, after = pair({}, {**FEWER, "gen": 800, "prompt": 2400})
    assert cli.main(["compare", "--cache-dir", str(compiled()), "-q", before, *words, after]) == code
    out = capsys.readouterr().out
    if code < 2:
        assert "worse" in out.splitlines()[0] or json.loads(out)["verdict"] == "worse"


@pytest.mark.parametrize(
    "words",
    [["a"], ["a", "b", "c"], ["--with", "b"], ["-", "b"], []],
)
def test_sides_must_be_clear(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", *words]) == 2
    assert "compare" in capsys.readouterr().err


def test_several_inputs_a_side(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pair({}, FEWER)
    assert cli.main(["compare", "-q", "--cache-dir", str(compiled()), before, "--with", after]) == 0
    assert "--max-num-seqs" in capsys.readouterr().out


def test_lengths_of_requests_are_load_and_no_outcome(pair: Any, tmp_path: Path) -> None:
    def metered(name: str, length: int) -> str:
        pages = ""
        for count in (0, 3000):
            pages += f"# 2026-07-12T10:{count // 100:02d}:00Z\n"
            for metric, seconds in (("request_prompt_tokens", length), ("time_to_first_token_seconds", length / 1000)):
                bounds = {length / 2: 0, length: count} if metric.endswith("tokens") else {length / 1000: count}
                pages += "".join(f'vllm:{metric}_bucket{{le="{le}"}} {n}\n' for le, n in bounds.items())
                pages += f'vllm:{metric}_bucket{{le="+Inf"}} {count}\n'
                pages += f"vllm:{metric}_sum {seconds * count}\nvllm:{metric}_count {count}\n"
        (tmp_path / name).write_text(pages)
        return str(tmp_path / name)

    before, after = pair({}, FEWER)
    found = compare([before, metered("a.prom", 4000)], [after, metered("b.prom", 400)], options=OPTIONS)
    lengths = [one for one in found.figures if one.name == "request.prompt_tokens.p50"]
    assert [(one.state, one.means) for one in lengths] == [("lower", "")]
    assert (found.verdict, found.attribution, found.load) == ("cannot tell", "not attributable", "differs")
    assert found.load_text.startswith("prompt length p50 ")


def test_text_keeps_to_80_columns(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    args = f"'max_num_seqs': 160, 'compilation_config': {{'pass_config': '{'x' * 150}'}}"
    before, after = pair({}, {**FEWER, "args": args, "gen": 800})
    assert cli.main(["compare", "-q", "--cache-dir", str(compiled()), "--width", "80", before, after]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_baseline(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = pair({}, {**FEWER, "gen": 800, "prompt": 2400})
    arguments = ["--cache-dir", str(compiled()), "-q", "--exit-zero", bad, "--baseline", good]
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert "baseline" in text
    assert "--max-num-seqs  256 → 160" in text
    assert cli.main([*arguments, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["baseline"]["verdict"] == "worse"
    assert data["schema_version"].startswith("1.")
    assert cli.main([*arguments, "--format", "markdown"]) == 0
    assert "Against the baseline: worse" in capsys.readouterr().out


def test_what_is_handed_on_is_redacted(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sides = pair({}, {"args": "'max_num_seqs': 160, 'model': '/home/janedoe/models'"})
    for options, hidden in ((["--format", "markdown"], True), ([], False), (["--redact"], True)):
        assert cli.main(["compare", "--cache-dir", str(compiled()), "-q", *options, *sides]) == 0
        told = capsys.readouterr().out
        assert ("/home/user-1/models" in told) is hidden
        assert ("janedoe" in told) is not hidden


def test_secrets_stay_in_the_log(pair: Any) -> None:
    args = "'max_num_seqs': 160, 'api_key': ['hunter2hunter2'], 'hf_token': 'hunter3'"
    found = diagnose(pair({"args": args}, {})[0], options=OPTIONS)
    assert "hunter" not in get("json").render(found, RenderOptions())


class TestOdd:
    @pytest.fixture
    def replicas(self, tmp_path: Path) -> Any:
        def write(*told: dict[str, Any]) -> Report:
            names = []
            for at, one in enumerate(told):
                names.append(tmp_path / f"replica-{at}.log")
                names[-1].write_text(log(**{"seed": at, **one}))
            return diagnose(names, options=OPTIONS)

        return write

    @pytest.mark.parametrize(
        ("told", "stands_out"),
        [
            ([{}, {}, {}, {}], set()),
            ([{}, {}, {}, {"gen": 500}], {"gen.tps"}),
            ([{}, {}, {}, {"waiting": 90}], {"requests.waiting"}),
            ([{}, {}, {}, {"args": "'max_num_seqs': 64"}], {"--max-num-seqs"}),
            ([{}, {}, {}, {"version": "0.13.0"}], {"engine version"}),
            # Too few peers to know who is odd; two camps; a difference that nobody minds.
            ([{}, {}, {"gen": 500}], set()),
            ([{}, {}, {"gen": 500}, {"gen": 500}], set()),
            ([{}, {}, {}, {"gen": 1050}], set()),
        ],
    )
    def test_replicas(self, replicas: Any, told: list[dict[str, Any]], stands_out: set[str]) -> None:
        report = replicas(*told)
        assert {one.name for one in report.odd if one.kind != "finding"} == stands_out
        assert all("replica-3" in one.who for one in report.odd)
        for form in ("text", "markdown"):
            assert ("dd one out" in get(form).render(report, RenderOptions())) == bool(report.odd)

    def test_ranks(self, tmp_path: Path) -> None:
        steady = log()
        lines = [
            line.replace("Engine 000", f"Engine {rank:03}").replace(
                "Running: ", "Running: 9" if rank == 2 else "Running: "
            )
            for line in steady.splitlines()
            for rank in range(4 if "Engine 000" in line else 1)
        ]
        (tmp_path / "dp.log").write_text("\n".join(lines) + "\n")
        report = diagnose(tmp_path / "dp.log", options=OPTIONS)
        assert [(one.name, one.peers) for one in report.odd] == [("requests.running", 3)]
        assert "002" in report.odd[0].who or "2" in report.odd[0].who
        assert odd(report.runs, report.findings) == report.odd
