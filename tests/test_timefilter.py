"""Time filters: what people write, and which lines stay."""

from datetime import UTC, datetime

import pytest
from serverlogs import knowledge

from diagnoser.api import Options, Session, UsageError
from diagnoser.timefilter import parse_bound

END = datetime(2026, 3, 1, 0, 10, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15m", "2026-02-28 23:55:00"),
        ("90s", "2026-03-01 00:08:30"),
        ("1.5h", "2026-02-28 22:40:00"),
        ("2d", "2026-02-27 00:10:00"),
        ("2026-02-28 23:00", "2026-02-28 23:00:00"),
        ("2026-02-28T23:00:05", "2026-02-28 23:00:05"),
        ("02-28 23:00:00", "2026-02-28 23:00:00"),
        ("02-29 23:00:00", "2026-02-28 23:00:00"),  # no such day in the log's year
        ("12-31 23:00", "2025-12-31 23:00:00"),  # nearer than the one to come
        ("03-02 01:00", "2026-03-02 01:00:00"),
        ("00:05", "2026-03-01 00:05:00"),
        ("23:50:10", "2026-02-28 23:50:10"),  # later than the log's end, so the evening before
    ],
)
def test_bounds(text, expected):
    found = parse_bound(text).resolve(END)
    assert datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%d %H:%M:%S") == expected


@pytest.mark.parametrize("text", ["", "soon", "15 minutes ago", "25:00", "2026-13-01"])
def test_what_cannot_be_read_lists_the_forms(text):
    with pytest.raises(ValueError, match=r"15m or 2h .* 2026-11-29 10:00"):
        parse_bound(text)


def test_a_log_without_times_is_not_cut():
    assert parse_bound("15m").resolve(None) is None


@pytest.fixture
def log(tmp_path):
    """Twenty minutes of an idle server, then two of a full KV cache, then ten of idling."""
    path = tmp_path / "server.log"
    line = (
        "INFO 07-12 10:{m:02d}:{s:02d} [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, "
        "Avg generation throughput: 9.0 tokens/s, Running: {r} reqs, Waiting: {w} reqs, GPU KV cache usage: {kv}%, "
        "Prefix cache hit rate: 0.0%\n"
    )
    with path.open("w") as file:
        for second in range(0, 32 * 60, 10):
            full = 1200 <= second < 1320
            values = {"r": 12, "w": 9, "kv": 99.5} if full else {"r": 1, "w": 0, "kv": 2.0}
            file.write(line.format(m=second // 60, s=second % 60, **values))
    return path


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, True),
        ({"since": "13m"}, True),
        ({"since": "5m"}, False),
        ({"until": "10:19:59"}, False),
        ({"since": "10:19", "until": "10:23"}, True),
        ({"since": "07-12 10:25"}, False),
    ],
)
def test_only_the_window_is_judged(log, options, found):
    report = Session([log], knowledge=knowledge(), options=Options(**options)).report
    assert ("memory.kv_cache_exhausted" in [finding.id for finding in report.findings]) is found


def test_a_relative_filter_reads_standard_input_twice(log):
    with log.open("rb") as stdin:
        report = Session(["-"], stdin=stdin, knowledge=knowledge(), options=Options(since="5m")).report
    assert report.findings == []
    assert report.runs[0].stats_samples == pytest.approx(31, abs=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"since": "soon"}, "--since: cannot read the time 'soon'"),
        ({"engine": "vlm"}, "unknown engine; .* did you mean vllm"),
        ({"inference": "plan"}, "did you mean plain"),
        ({"rules": ("no-such-folder",)}, "no such folder"),
    ],
)
def test_unusable_options(log, options, words):
    with pytest.raises(UsageError, match=words):
        Session([log], options=Options(**options))
