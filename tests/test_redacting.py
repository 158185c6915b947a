"""What a report must not hand on, and what must survive: every place of the report, every format."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any, NamedTuple

import pytest
from fixed_report import healthy, report
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser import reports
from diagnoser.contracts.findings import Evidence, Report
from diagnoser.reports import RenderOptions
from diagnoser.reports.redacting import Redactor
from diagnoser.values import field_names

HANDED_ON = sorted(set(reports.formats()) - {"text", "json"})
#: Something secret in the words of a log, and the part that must not survive.
SECRETS = [
    ("Authorization: Bearer abcdefgh0123456789", "abcdefgh0123456789"),
    ("hf_AbCdEfGhIjKlMnOpQrStUv", "AbCdEfGhIjKlMnOpQrStUv"),
    ("10.20.30.41 is down", "10.20.30.41"),
    ("tcp://172.16.5.77:29500", "172.16.5.77"),
    ("[2001:db8:77::42]:8000", "2001:db8:77::42"),
    ("fe80::1ff:fe23:4567:890a%eth0", "fe80::1ff"),
    ("ip-10-20-30-42.ec2.internal", "10-20-30-42"),
    ("10-20-30-43.llm.pod.cluster.local", "10-20-30-43"),
    ("jane.doe+llm@corp.example.com", "jane.doe"),
    ("/home/janedoe/models/x", "janedoe"),
    ("/Users/JaneDoe/x", "JaneDoe"),
    ("'C:\\\\Users\\\\janedoe\\\\x'", "janedoe"),
    ("~janedoe/x", "janedoe"),
    ("https://jane:pa55@word@host/x", "pa55"),
    ("https://jane:pa55@word@host/x", "@word"),
    ("https://sekrettoken@host/x", "sekrettoken"),
    ("https://host/x?patient=smith", "smith"),
    ("https://host/x?smith", "smith"),
    ("path=/v1/x?patient=smith&x=1", "smith"),
    ('"GET /v1/models?patient=smith HTTP/1.1" 200', "smith"),
    ("prompt: 'My patient\\'s name is Smith', params: SamplingParams(n=1)", "Smith"),
    ('prompt: "My patient\'s name is Smith", params', "Smith"),
    ("prompt: 'My patient Smith and then it was cut", "Smith"),
    ("prompt_token_ids: [424242, 7], lora_request: None", "424242"),
    ('{"messages": [{"role": "user", "content": "Smith ]}"}], "n": 1}', "Smith"),
    ('body: b\'{"prompt": "Smith"}\'', "Smith"),
    ('{\\"prompt\\": \\"Smith\\", \\"n\\": 1}', "Smith"),
    ('Receive: obj=GenerateReqInput(rid=\'a\', text="He said "hi", rid=Smith", stream=False)', "Smith"),
    ("Receive: obj=GenerateReqInput(text=['He said \"]\", Smith'], stream=False)", "Smith"),
    ("Receive: obj=GenerateReqInput(text=\"a\", rid='b', Smith and cut", "Smith"),
    ("output_token_ids: array('i', [424242, 1])", "424242"),
    ('content="""My "name" is Smith""", n=1', "Smith"),
    ("[type=string_type, input_value='Smith', input_type=str]", "Smith"),
    ("POSTGRES_PASSWORD=hunter22", "hunter22"),
    ("DB_PWD=/hunter22", "hunter22"),
    ("'s3_secret_key': 'hunter22'", "hunter22"),
    ("REDIS_AUTH_TOKEN=hunter22", "hunter22"),
    ("--db-password hunter22", "hunter22"),
    ("--admin-api-key hunter22", "hunter22"),
    ("output: ' Smith has the flu', output_token_ids: [1]", "flu"),
]
KEPT = [
    "PWD=/srv/models/run", "pwd=/srv", "forbidden_secrets: 3", "no password given",
    "vLLM API server version 0.10.1.1", "version 9.10.2.21", "torch==2.8.0.1", "v1.2.3.4", "libcudnn.so.9.5.1.17",
    "at 10:00:03.123 and 2026-05-19T08:02:11", "07-12 10:20:01 [core.py:118]", "0.0.0.0:8000", "127.0.0.1:8000",
    "[::]:8000 [::1]:8000", "c10d::broadcast_ std::vector a::vec c10d:: x", "1,890.4 tokens/s, KV 99.8%, 37/256",
    "GPU 0000:17:00.0 Xid 79", "aa:bb:cc:dd:ee:ff", "server.log:8123", "llm-7f9c4d5b6-xkq2z node-3.rack7",
    "meta-llama/Llama-3.1-8B-Instruct", "/root/.cache /models/x /home/runner/work/r", "--max-num-seqs 256 (set) -> 139",
    "Avg prompt throughput: 1423.1 tokens/s", "num prompt tokens: 512, max_tokens=16", "prompt=None, text: 5",
    '{"message": "engine died", "level": "ERROR"}', "<12 characters>", "~5 s ~/x", "1.2.3.4.5", "300.1.2.3",
]  # fmt: skip


def planted(value: Any, text: str, name: str = "") -> Any:
    """Return a copy with ``text`` in every string of the report that a log, a path or a setting may have written."""
    if isinstance(value, str):
        return value if name in {"severity", "role", "confidence", "state"} else f"{value} {text} "
    if fields := field_names(value):
        return type(value)(**{field: planted(getattr(value, field), text, field) for field in fields})
    if isinstance(value, dict):
        return {key: planted(item, text) for key, item in value.items()}
    return [planted(item, text, name) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_survive_nowhere(text: str, secret: str) -> None:
    bad = planted(report(), text)
    # Every format shows a part of the redacted report, and JSON the whole.
    assert secret not in json.dumps(json.loads(reports.render(bad, "json", RenderOptions(), True)), ensure_ascii=False)
    for name in ("markdown", "sarif"):
        assert secret not in reports.render(bad, name, RenderOptions(verbose=True, unrecognised=True))


@pytest.mark.parametrize("name", HANDED_ON)
def test_every_format_that_is_handed_on(name: str) -> None:
    text, words = " and ".join(text for text, _ in SECRETS[:18]), [secret for _, secret in SECRETS[:18]]
    out = reports.render(planted(report(), text), name, RenderOptions(verbose=True, unrecognised=True))
    assert [word for word in words if word in out] == []


@given(
    st.sampled_from(sorted(reports.formats())),
    st.ip_addresses(v=4, network="10.0.0.0/8"),
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=8, max_size=16),
    st.sampled_from(
        ["{ip} lost", "/home/zq{name}/m", "zq{name}@corp.example", "http://zq{name}:x@h/?q=1", "prompt: 'zq{name}'"]
    ),
    st.text(max_size=12),
)
@settings(max_examples=80, deadline=None)
def test_secrets_survive_in_no_format(name: str, ip: Any, who: str, frame: str, noise: str) -> None:
    text = f"{noise} {frame.format(ip=ip, name=who)} {noise}"
    options = RenderOptions(verbose=True, unrecognised=True, width=160)
    out = reports.render(planted(report(), text), name, options, redact=True)
    assert f"zq{who}" not in out
    assert str(ip) not in out


@pytest.mark.parametrize("text", KEPT)
def test_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


@given(
    st.lists(st.ip_addresses(v=4) | st.ip_addresses(v=6), min_size=1, max_size=4),
    st.sampled_from(
        ["{}", "from {}:8000", "tcp://{}:29500", "peer={},", "({})", "x {}/24 y", "'{}'", "INFO:  {} - GET"]
    ),
)
@settings(max_examples=150, deadline=None)
def test_addresses(found: list[Any], frame: str) -> None:
    """No address survives, the same one has the same name, and redacting again changes nothing."""
    redactor = Redactor()
    names: dict[str, str] = {}
    for address in found:
        text = frame.format(f"[{address}]" if address.version == 6 and "{}:" in frame else address)
        said = redactor.text(text)
        if not stays(address):
            assert str(address) not in said
            assert names.setdefault(str(address), said) == said
        assert Redactor().text(said) == said
        assert redactor.text(text) == said


def stays(address: Any) -> bool:
    """Loopback, "any", what no host has (0.10.1.1 is a version), and what C++ writes as well (``c10d::``)."""
    v4 = getattr(address, "ipv4_mapped", None) or address
    groups = [part for part in str(address).split(":") if part]
    return v4.is_loopback or str(v4).startswith("0.") or (address.version == 6 and len(groups) < 2)


@given(st.floats(0, 1e6, allow_nan=False).map(lambda n: f"{n:,.3f}"), st.times(), st.integers(0, 99_999))
@settings(max_examples=100, deadline=None)
def test_figures_are_no_addresses(number: str, time: Any, place: int) -> None:
    text = f"{time.isoformat()} server.log:{place} {number} tokens/s v0.{place % 40}.{place % 7}.1 {number}%"
    assert Redactor().text(text) == text


@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_what_somebody_wrote_is_never_shown(content: str) -> None:
    """In Python's own spelling and in JSON, whole or cut anywhere."""
    mark = "\u2603" + "snow"
    for said in (f"prompt: {mark + content!r}, params: 1", json.dumps({"prompt": mark + content, "n": 1})):
        assert "snow" not in Redactor().text(said)
    cut = f"prompt: {mark + content!r}, params: 1"
    assert "snow" not in Redactor().text(cut[: len(cut) * 2 // 3 + 9])


@pytest.mark.parametrize(
    "piece",
    [
        "a-",
        "a.",
        ":",
        "1.",
        "ab:",
        "1-",
        "://",
        "@a.",
        "prompt='",
        "text=[",
        '"{',
        "/home/",
        "/?a=",
        "~",
        "\\",
        "x?://@",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """A record of a log has up to 64 K characters, and its writer may be hostile: the cost grows with the length."""
    for frame in ("{} @ ? ://", 'Receive: text="{}', "prompt={{{}"):
        text = frame.format(piece * (30_000 // len(piece)))
        started = time.process_time()
        Redactor().text(text)
        assert time.process_time() - started < 1.5


class TestReport:
    def test_one_address_one_name(self) -> None:
        redactor = Redactor()
        assert redactor.of(["10.0.0.5", {"peer 10.0.0.6": "10.0.0.5:80"}]) == ["ip-1", {"peer ip-2": "ip-1:80"}]

    def test_the_report_keeps_its_shape(self) -> None:
        done = Redactor().of(report())
        assert isinstance(done, Report)
        assert done.findings[0] == report().findings[0]
        assert Redactor().of(done) == done
        assert Redactor().of(healthy()).runs == healthy().runs

    def test_what_stands_beside_the_report_is_redacted_alike(self) -> None:
        """Whatever data a format is given in its options has the same names for the same addresses."""

        class Beside(NamedTuple):
            story: Evidence
            folder: str = ""

        class Odd:
            NAME = DESCRIPTION = "odd"

            @staticmethod
            def render(report: Report, options: Any) -> str:
                return f"{report.inputs[0].name} {options.story.text}"

        bad = dataclasses.replace(report(), inputs=[dataclasses.replace(report().inputs[0], name="http://10.0.0.9")])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reports, "get", lambda _: Odd)
            options: Any = Beside(Evidence("x", 1, None, "10.0.0.8, 10.0.0.9"))
            assert reports.render(bad, "odd", options) == "http://ip-1 ip-2, ip-1"

    def test_versions_by_name_stay(self) -> None:
        one = dataclasses.replace(report().runs[0], engine_version="1.2.3.4", facts={"driver.version": "31.0.15.99"})
        done = Redactor().of(one)
        assert (done.engine_version, done.facts) == ("1.2.3.4", {"driver.version": "31.0.15.99"})
        assert Redactor().of(dataclasses.replace(one, engine_version="see 10.1.2.3")).engine_version == "see ip-1"

    def test_paths_under_the_working_directory(self) -> None:
        assert Redactor("/home/alice/repo").text("/home/alice/repo/a.log /home/alice/b") == "a.log /home/user-1/b"


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ([], False), (["--redact"], True), (["--format", "json"], False), (["--format", "json", "--redact"], True),
        (["--format", "markdown"], True), (["--format", "markdown", "--no-redact"], False), (["--brief"], False),
        (["--brief", "--redact"], True),
    ],
)  # fmt: skip
def test_from_the_command_line(command: Any, tmp_path: Any, options: list[str], hidden: bool) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 07-12 10:00:00 [api_server.py:1] vLLM API server version 0.10.1.1\n"
        "ERROR 07-12 10:00:05 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 79.1 GiB of which 1.2 GiB is free. peer 10.11.12.13\n"
        "WARNING 07-12 10:00:06 [x.py:1] lost 10.11.12.13 of bob@corp.example\n"
    )
    done = command("--exit-zero", *options, str(log))
    assert done.returncode == 0, done.stderr
    if "--brief" not in options:
        assert ("10.11.12.13" in done.stdout) is not hidden
        assert ("ip-1" in done.stdout) is hidden
        assert ("bob@" in done.stdout.replace("\u200b", "")) is not hidden
        assert "0.10.1.1" in done.stdout
    if not options:
        assert "ip-1" in command("--exit-zero", str(log), DIAGNOSE_REDACT="1").stdout
        done = command(str(log), DIAGNOSE_REDACT="maybe")
        assert done.returncode == 2
        assert "DIAGNOSE_REDACT: 'maybe' is neither of" in done.stderr


def test_an_old_address_in_new_clothes_is_the_same() -> None:
    assert Redactor().text("::ffff:10.0.0.5 10.0.0.5 ip-10-0-0-5") == "ip-1 ip-1 ip-1"
