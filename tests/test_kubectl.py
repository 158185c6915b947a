"""`kubectl diagnose-llm` against a stand-in for kubectl: what is asked, what fails, what a bundle keeps."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from serverlogs import compiled

from diagnoser import cli
from diagnoser.commands import _kube_collect
from diagnoser.commands._errors import CommandError
from diagnoser.commands._kube_bundle import Bundle, masked_log, masked_object
from diagnoser.commands._kube_target import containers_of, selector_of, target_of
from diagnoser.commands._kubectl import Kubectl, named

ROOT = Path(__file__).parent.parent
STAND_IN = ROOT / "tests" / "kubectl_stand_in.py"
KILLED = ROOT / "samples" / "oom-killed-pod"
PAGES = sorted((ROOT / "samples" / "metrics-kv-exhausted").glob("*.prom"))
IMAGE = "vllm/vllm-openai:v0.21.0"
NOT_FOUND = {"err": 'Error from server (NotFound): pods "x" not found\n', "code": 1}
FORBIDDEN = {"err": 'Error from server (Forbidden): events is forbidden: User "me" cannot list resource\n', "code": 1}
UNREACHABLE = "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout\n"
LOG = "".join(f"[pod/qwen-72b-0/vllm] {line}\n" for line in (KILLED / "server.log").read_text().splitlines())
READ = {"get", "logs", "port-forward", "config"}


def reply(words: str, **more: Any) -> dict[str, Any]:
    return {"words": shlex.split(words), **more}


def pod(name: str = "llm-0", restarts: int = 0, waiting: str = "", **spec: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": "2026-11-29T10:00:00Z"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": "llm"}},
        "spec": {"nodeName": "gpu-1", "containers": [{"name": "vllm", "image": IMAGE, **spec}]},
        "status": {
            "containerStatuses": [{"name": "vllm", "restartCount": restarts, "state": state, "ready": not waiting}]
        },
    }


def log_of(name: str, minutes: int = 4, waiting: int = 0, hour: int = 10) -> str:
    """Write a log of vLLM as kubectl prints it."""
    out = []
    for second in range(0, 60 * minutes, 10):
        clock = f"{hour}:{second // 60:02}:{second % 60:02}"
        text = (
            "[api_server.py:1] vLLM API server version 0.21.0"
            if not second
            else f"[loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 100.0 "
            f"tokens/s, Running: 12 reqs, Waiting: {waiting} reqs, GPU KV cache usage: 9.6%, "
            "Prefix cache hit rate: 0.0%"
        )
        out.append(f"[pod/{name}/vllm] 2026-11-29T{clock}.000000000Z INFO 11-29 {clock} {text}\n")
    return "".join(out)


class Cluster:
    """A folder with replies, and calls of the plugin against it."""

    def __init__(self, home: Path, cache: Path) -> None:
        self.home, self._cache = home, cache
        program = home / "kubectl"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S {shlex.quote(str(STAND_IN))} "$@"\n')
        program.chmod(0o755)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.home}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "KUBECTL_REPLAY": str(self.home),
            "DIAGNOSE_CACHE_DIR": str(self._cache),
            "TMPDIR": str(self.home),
        }

    def __call__(self, replies: list[dict[str, Any]], *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.home / "asked.jsonl").unlink(missing_ok=True)
        (self.home / "replies.json").write_text(
            json.dumps([*replies, reply("config current-context", out="prod-eu\n")])
        )
        done = subprocess.run(
            [sys.executable, "-m", "diagnoser", "kube", *arguments],
            cwd=self.home,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
        assert not [path for path in self.home.iterdir() if path.name.startswith((".diagnose", "diagnose-"))]
        assert {next(word for word in words if not word.startswith("-")) for words in self.asked()} <= READ
        return done

    def failing(self, replies: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
        """Call in this process, which is faster: for what never comes as far as a report."""
        (self.home / "replies.json").write_text(json.dumps(replies))
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.home)
        return cli.main(["kube", *arguments])

    def report(self, replies: list[dict[str, Any]], *arguments: str) -> dict[str, Any]:
        done = self(replies, "--format", "json", "--exit-zero", "-q", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def asked(self) -> list[list[str]]:
        path = self.home / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(scope="session")
def cache() -> Path:
    return compiled()


@pytest.fixture
def cluster(tmp_path: Path, cache: Path) -> Cluster:
    return Cluster(tmp_path, cache)


def back(thing: dict[str, Any]) -> dict[str, Any]:
    """Let the container run again."""
    for one in thing["status"]["containerStatuses"]:
        one["state"] = {"running": {"startedAt": "2026-06-03T15:00:00Z"}}
    return thing


#: A pod whose last life was killed: the log before, the log now, the pod, an event.
SICK = [
    reply("get pod qwen-72b-0", out=json.dumps(back(json.loads((KILLED / "pod.json").read_text())))),
    reply("get events", out=json.dumps({"items": [
        {"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "BackOff", "message": "Back-off restarting",
         "involvedObject": {"kind": "Pod", "name": name}} for name in ("qwen-72b-0", "other-0")]})),
    reply("logs qwen-72b-0 --previous", out=LOG),
    reply("logs qwen-72b-0", out=log_of("qwen-72b-0", hour=15).replace("11-29", "06-03")),
    reply("get --raw", **FORBIDDEN),
    reply("port-forward", err="error: unable to forward port\n", code=1),
]  # fmt: skip


def test_a_pod_is_one_incident_and_its_bundle_says_the_same(cluster: Cluster, tmp_path: Path) -> None:
    bundle = str(tmp_path / "b.tar.gz")
    live = cluster.report(SICK, "qwen-72b-0", "-c", "vllm", "--for", "0.2s", "--bundle", bundle)
    assert [one["id"] for one in live["findings"] if one["role"] == "root"] == ["memory.host_oom"]
    names = [one["name"] for one in live["inputs"]]
    assert names == ["pods.json", "events.json", "qwen-72b-0/vllm.log", "manifest.json"]
    evidence = {one["source"] for finding in live["findings"] for one in finding["evidence"]}
    assert "pods.json" in evidence
    assert {run["stream"] for run in live["runs"]} == {"qwen-72b-0/vllm"}
    assert len(live["runs"]) == 2, "the life before the restart and the one after it"
    (problem,) = live["inputs"][-1]["problems"]
    assert "not collected: metrics of qwen-72b-0/vllm" in problem
    assert "forbidden" in problem and "port-forward: unable to forward port" in problem
    assert "by hand: kubectl get --raw /api/v1/namespaces/llm/pods/qwen-72b-0:8000/proxy/metrics" in problem
    later = subprocess.run(
        [sys.executable, "-m", "diagnoser", "--format", "json", "--exit-zero", bundle],
        env=cluster.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(later.stdout) == live
    assert cluster.report(SICK, "pod/qwen-72b-0", "-c", "vllm", "--no-metrics")["findings"] == live["findings"], (
        "with and without a bundle"
    )
    assert Path(bundle).stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        events = json.load(archive.extractfile("events.json"))  # type: ignore[arg-type]
        inside = archive.getnames()
    assert inside == [one["name"] for one in manifest["files"]] + ["manifest.json"]
    assert "qwen-72b-0/vllm.previous.log" in inside
    assert len(events["items"]) == 1, "events of other pods are nobody's business"
    assert (manifest["target"], manifest["namespace"], manifest["context"]) == ("qwen-72b-0", "llm", "prod-eu")
    assert any(one.startswith("kubectl logs --namespace=llm qwen-72b-0") for one in manifest["commands"])


def test_what_is_said_on_the_way(cluster: Cluster) -> None:
    done = cluster(SICK, "qwen-72b-0", "--no-metrics", "--context", "prod-us", "-n", "llm", "--fail-on", "never")
    assert done.returncode == 0
    assert "diagnose: qwen-72b-0: qwen-72b-0 (namespace llm, context prod-us)" in done.stderr
    assert "diagnose: logs: 0 of 3" in done.stderr
    assert done.stdout.startswith("CRITICAL")
    assert all(words[0] == "--context=prod-us" for words in cluster.asked())
    assert cluster.asked()[0][:6] == [
        "--context=prod-us",
        "get",
        "--namespace=llm",
        "--output=json",
        "pod",
        "qwen-72b-0",
    ]
    done = cluster(SICK, "qwen-72b-0", "--no-metrics", "-q")
    assert (done.returncode, done.stderr) == (1, ""), "--fail-on critical, as everywhere"


DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm", "namespace": "prod"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}}},
}  # fmt: skip


def replicas(*more: dict[str, Any]) -> list[dict[str, Any]]:
    pods = [
        pod("llm-1", args=["--model", "m", "--port", "9000"]),
        pod("llm-10", env=[{"name": "API_KEY", "value": "hush"}]),
    ]
    return [
        *more,
        reply("get deploy/llm", out=json.dumps(DEPLOYMENT)),
        reply("get pods --selector=app=llm", out=json.dumps({"kind": "PodList", "items": pods})),
        reply("get events", out='{"items": []}'),
        reply("logs llm-1", out=log_of("llm-1")),
        reply("logs llm-10", out=log_of("llm-10", waiting=3)),
    ]


def test_replicas_and_their_metrics(cluster: Cluster) -> None:
    pages = [page.read_text() for page in PAGES[:2]]
    path = "/api/v1/namespaces/prod/pods/{}/proxy/metrics"
    report = cluster.report(
        replicas(
            reply(f"get --raw {path.format('llm-1:9000')}", outs=pages),
            reply(f"get --raw {path.format('llm-10:8000')}", outs=pages),
        ),
        "deploy/llm", "--for", "0.4s", "--bundle", "b.tar",
    )  # fmt: skip
    assert [(run["stream"], run["engine_version"]) for run in report["runs"]] == [
        ("llm-1/vllm", "0.21.0"),
        ("llm-10/vllm", "0.21.0"),
    ], "pages go to the pod that they are of"
    names = [one["name"] for one in report["inputs"]]
    pages_ = [f"llm-{pod}/metrics-{number}.prom" for number in (1, 2) for pod in (1, 10)]
    assert names == ["pods.json", "llm-1/vllm.log", "llm-10/vllm.log", *pages_, "manifest.json"]
    assert all(not one["problems"] for one in report["inputs"])
    with tarfile.open(cluster.home / "b.tar") as archive:
        text = archive.extractfile("pods.json").read().decode()  # type: ignore[union-attr]
        page = archive.extractfile("llm-10/metrics-1.prom").read().decode()  # type: ignore[union-attr]
    assert "hush" not in text and '"value": "***"' in text
    assert '"kind": "Deployment"' in text
    assert page.startswith("# 2") and " pod/llm-10/vllm port 8000\n" in page


def test_metrics_of_one_replica_are_not_the_others(cluster: Cluster) -> None:
    """The only page there is must go to the pod that it is of, though another log comes first."""
    report = cluster.report(
        replicas(
            reply("get --raw /api/v1/namespaces/prod/pods/llm-10:8000/proxy/metrics", out=PAGES[0].read_text()),
            reply("get --raw", err="Error from server (ServiceUnavailable): error trying to reach service: "
                  "dial tcp 10.1.2.3:9000: connect: connection refused\n", code=1),
        ),
        "deploy/llm", "--for", "0.2s",
    )  # fmt: skip
    of = {run["stream"]: [name for name in run["sources"] if name.endswith(".prom")] for run in report["runs"]}
    assert of["llm-1/vllm"] == []
    assert next(name for names in of.values() for name in names).startswith("llm-10/")
    assert "connection refused" in report["inputs"][-1]["problems"][0]


def test_a_forwarded_port_where_the_proxy_is_forbidden(cluster: Cluster) -> None:
    report = cluster.report(
        replicas(reply("get --raw", **FORBIDDEN), reply("port-forward", listen=PAGES[0].read_text())),
        "deploy/llm", "--for", "0.2s", "-c", "vllm",
    )  # fmt: skip
    assert {one["name"] for one in report["inputs"]} >= {"llm-1/metrics-1.prom", "llm-1/metrics-2.prom"}
    assert not report["inputs"][-1]["problems"]
    called = min(words for words in cluster.asked() if words[0] == "port-forward")  # asked for side by side
    assert called == ["port-forward", "--namespace=prod", "--address=127.0.0.1", "pod/llm-1", ":9000"]


#: Replies that fail, each with what must be told of it.
REFUSED: list[tuple[dict[str, Any], str]] = [
    (reply("get events", **FORBIDDEN), "events: forbidden"),
    (reply("logs llm-1", err='Error from server: Get "https://10.0.0.9:10250/containerLogs": dial tcp 10.0.0.9:10250: '
           "i/o timeout\n", code=1), "log of llm-1/vllm: unreachable: Get"),
    (reply("logs llm-10", out=log_of("llm-10"), err="error: unexpected EOF\n", code=1), "bytes are there)"),
]  # fmt: skip
HANGING: list[tuple[dict[str, Any], str]] = [
    (reply("get events", out="<html>"), "events: the answer is no JSON"),
    (reply("logs llm-1", sleep=30), "log of llm-1/vllm: no end within"),
    (reply("logs llm-10", child=30), "log of llm-10/vllm: no end within"),
]


@pytest.mark.parametrize("failing", [REFUSED, HANGING], ids=["refused", "hanging"])
def test_what_fails_is_named_and_the_rest_is_diagnosed(
    cluster: Cluster, failing: list[tuple[dict[str, Any], str]]
) -> None:
    started = time.monotonic()
    replies = replicas(*(one for one, _ in failing))
    report = cluster.report(replies, "deploy/llm", "--no-metrics", "--timeout", "2s")
    assert time.monotonic() - started < 20
    problems = report["inputs"][-1]["problems"]
    for _, told in failing:
        assert any(told in one and "by hand: kubectl " in one for one in problems), problems
    assert "llm-10/vllm" in {run["stream"] for run in report["runs"]}
    pid = cluster.home / "child.pid"
    if failing is HANGING:
        with pytest.raises(ProcessLookupError):
            for _ in range(40):
                os.kill(int(pid.read_text()), 0)
                time.sleep(0.1)


def test_metrics_that_hang_cost_no_log(cluster: Cluster) -> None:
    report = cluster.report(replicas(reply("get --raw", sleep=30)), "deploy/llm", "--timeout", "3s")
    assert {one["name"] for one in report["inputs"]} >= {"llm-1/vllm.log", "llm-10/vllm.log"}
    told = report["inputs"][-1]["problems"]
    assert len(told) == 2 and all("port" in one and "no time" in one for one in told)
    tried = [words for words in cluster.asked() if "--raw" in words]
    assert len(tried) == 2, "where nothing answers in time, no other port is tried"


def test_previous_logs_that_are_gone_and_containers_that_have_not_started(cluster: Cluster) -> None:
    restarted, waits = pod("llm-1", restarts=3), pod("llm-2", waiting="ImagePullBackOff")
    report = cluster.report(
        [
            reply("get pods --selector=app=llm", out=json.dumps({"items": [restarted, waits]})),
            reply("get events", out='{"items": []}'),
            reply("logs llm-1 --previous", code=1,
                  err='Error from server (BadRequest): previous terminated container "vllm" in pod "x" not found\n'),
            reply("logs llm-1", out=log_of("llm-1")),
        ],
        "-l", "app=llm", "--no-metrics",
    )  # fmt: skip
    told = sorted(report["inputs"][-1]["problems"])
    assert any("previous log of llm-1/vllm: no previous log: previous terminated" in one for one in told)
    assert any("log of llm-2/vllm: it has not started: ImagePullBackOff" in one for one in told)
    assert not any("llm-2" in words and "logs" in words for words in cluster.asked())
    assert [one["id"] for one in report["findings"]] == ["platform.pod_start"]


GIVE_UP: list[tuple[str, list[dict[str, Any]], list[str], list[str]]] = [
    ("forbidden", [reply("get pod x", **FORBIDDEN)], ["x"], ["forbidden", "pods/log", "try: kubectl get"]),
    ("not found", [reply("get pod llm", **NOT_FOUND), reply("get --output=name", out="pod/x-0\ndeployment.apps/llm\n")],
     ["llm"], ["not found", "did you mean deployment/llm?"]),
    ("API server down", [reply("get pod x", err=UNREACHABLE, code=1)], ["x"], ["unreachable", "i/o timeout"]),
    ("no context", [reply("get pod x", err='error: context "prd" does not exist\n', code=1),
                    reply("config get-contexts", out="prod-eu\nprod-us\n")],
     ["x", "--context", "prd"], ["--context takes one of prod-eu, prod-us"]),
    ("no credentials", [reply("get pod x", err="error: You must be logged in to the server (Unauthorized)\n", code=1)],
     ["x"], ["no credentials"]),
    ("no kind", [reply("get deplyo/x", err='error: the server doesn\'t have a resource type "deplyo"\n', code=1)],
     ["deplyo/x"], ["did you mean deploy?"]),
    ("hangs", [reply("get pod x", sleep=30)], ["x", "--timeout", "1s"], ["no end within 1 s"]),
    ("floods", [reply("get pod x", flood="{}" * 500)], ["x"], ["more than 33,554,432 bytes"]),
    ("no JSON", [reply("get pod x", out="No resources")], ["x"], ["no JSON"]),
    ("no pods", [reply("get deploy/x", out=json.dumps({**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 0}})),
                 reply("get pods", out='{"items": []}')], ["deploy/x"], ["has no pods (spec.replicas is 0)"]),
    ("no selector", [reply("get cronjob/x", out='{"kind": "CronJob", "metadata": {"name": "x"}}')], ["cronjob/x"],
     ["CronJob x does not tell which pods are its own"]),
    ("no container", replicas(), ["deploy/llm", "-c", "vlm"], ["-c vlm", "did you mean vllm?"]),
    ("no kubectl", [], ["x", "--kubectl", "nowhere"], ["--kubectl nowhere: not found on PATH"]),
    ("nothing", [], [], ["name a pod"]),
    ("both", [], ["x", "-l", "a=b"], ["name a pod"]),
    ("an option as a name", [], ["deploy/-x"], ["neither POD nor KIND/NAME"]),
    ("a bad namespace", [], ["x", "-n", "--all"], ["-n", "expected one argument"]),
    ("a bad selector", [], ["-l", "a=b;reboot"], ["no label selector"]),
    ("an option of nobody", [], ["x", "--bundel", "b.tar.gz"], ["did you mean --bundle?"]),
    ("a bad format", [], ["x", "--format", "jsno"], ["did you mean json?"]),
    ("a bad bundle", [], ["x", "--bundle", "b.rar"], [".tar.gz"]),
    ("a bundle nowhere", [], ["x", "--bundle", "no/such/b.tar.gz"], ["no folder"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "arguments", "told"), [one[1:] for one in GIVE_UP], ids=[one[0] for one in GIVE_UP]
)
def test_one_clear_error(
    cluster: Cluster, replies: list[dict[str, Any]], arguments: list[str], told: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    code = cluster.failing(replies, monkeypatch, *arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    for words in told:
        assert words in err, err
    assert "internal error" not in err
    if not replies:
        assert not cluster.asked(), "found out before anything is asked"


def test_ctrl_c_ends_what_was_started(cluster: Cluster, interruptible: None) -> None:
    (cluster.home / "replies.json").write_text(json.dumps(replicas(reply("logs", child=60))))
    process = subprocess.Popen(
        [sys.executable, "-m", "diagnoser", "kube", "deploy/llm", "--no-metrics"],
        env=cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    pid = cluster.home / "child.pid"
    for _ in range(200):
        if pid.exists() and pid.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(pid.read_text()), 0)
            time.sleep(0.1)
    assert not list(cluster.home.glob(".diagnose*"))


def test_a_log_that_is_too_large_keeps_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of("llm-0", minutes=30).encode()
    head, tail = log[:5000], b"".join(log.splitlines(keepends=True)[-20:])
    gap, text = _kube_collect._continued(head, tail)
    assert gap and text.startswith(log[:4000]) and text.endswith(tail)
    overlapping = b"".join(log.splitlines(keepends=True)[10:])
    assert _kube_collect._continued(head, overlapping) == (False, log)
    assert _kube_collect._continued(b"", b"")[1] == b""


SELECTORS: list[tuple[dict[str, Any], str]] = [
    (DEPLOYMENT, "app=llm"),
    ({"kind": "Service", "spec": {"selector": {"app": "llm", "tier": "gpu"}}}, "app=llm,tier=gpu"),
    ({"kind": "StatefulSet", "spec": {"selector": {"matchExpressions": [
        {"key": "a", "operator": "In", "values": ["x", "y"]}, {"key": "b", "operator": "DoesNotExist"},
        {"key": "c", "operator": "Exists"}, {"key": "d", "operator": "NotIn", "values": ["z"]}]}}},
     "a in (x,y),!b,c,d notin (z)"),
    ({"kind": "LeaderWorkerSet", "metadata": {"name": "dsv3"}}, "leaderworkerset.sigs.k8s.io/name=dsv3"),
    ({"kind": "Rollout", "status": {"selector": "app=llm"}}, "app=llm"),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "selector"), SELECTORS)
def test_selectors_of_owners(owner: dict[str, Any], selector: str) -> None:
    assert selector_of(owner) == selector


PORTS: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"image": IMAGE}, (8000,)),
    ({"image": "lmsysorg/sglang:v0.5.9"}, (30000,)),
    ({"image": IMAGE, "args": ["--port", "9000"]}, (9000, 8000)),
    ({"image": "x", "command": ["sh", "-c", "vllm serve m --port=81 && true"]}, (81, 8000)),
    ({"image": "x", "ports": [{"name": "http", "containerPort": 80}],
      "readinessProbe": {"httpGet": {"port": "http"}}}, (80, 8000, 30000)),
    ({"image": IMAGE, "ports": [{"containerPort": n} for n in range(1, 50)]}, (1, 2, 3, 4, 5)),
    ({"image": IMAGE, "args": "x", "ports": [None, {"containerPort": "no"}]}, (8000,)),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "ports"), PORTS)
def test_ports_that_may_show_metrics(spec: dict[str, Any], ports: tuple[int, ...]) -> None:
    one = pod()
    one["spec"]["containers"] = [{"name": "vllm", **spec}]
    (container,) = containers_of(one)
    assert container.ports == ports


HOSTILE: list[Any] = [
    {},
    {"metadata": {"name": "x"}, "spec": [], "status": "gone"},
    {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "--as=x"}, {"name": "../x"}, {"name": 7}, None]}},
    {"metadata": {"name": "x", "annotations": [1]}, "spec": {"containers": [
        {"name": "a", "image": 7, "args": {"a": 1}, "command": "x", "ports": {"a": 1}, "readinessProbe": [1],
         "livenessProbe": {"httpGet": {"port": {"a": 1}}}}]},
     "status": {"containerStatuses": [{"name": "a", "state": {"running": {"a": 1}}, "restartCount": "many"}]}},
    {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "ports": [{"containerPort": "9" * 9000}]}]},
     "status": {"containerStatuses": [{"name": "a", "state": {"running": {"a": 1}}}]}},
    {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a"}]},
     "status": {"containerStatuses": [{"name": "a", "state": {"waiting": "x"}}, {"name": "a", "state": [1]}]}},
]  # fmt: skip


@pytest.mark.parametrize("thing", HOSTILE)
def test_hostile_pods(thing: dict[str, Any]) -> None:
    for one in containers_of(thing):
        assert one.name == "a" and all(0 < port < 65536 for port in one.ports)
    for owner in ({"kind": "X", "spec": {"selector": {"matchLabels": [1], "matchExpressions": "x"}}}, {"spec": 7}):
        with pytest.raises(CommandError, match="does not tell which pods"):
            selector_of(owner)


@pytest.mark.parametrize("name", ["--kubeconfig=/etc/x", "../../x", "a b", "", None, 7])
def test_names_from_the_cluster_are_no_options(
    name: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = pod()
    bad["metadata"]["name"] = name
    assert cluster.failing([reply("get pods", out=json.dumps({"items": [bad]}))], monkeypatch, "-l", "a=b") == 2
    assert "has no pods" in capsys.readouterr().err
    assert len(cluster.asked()) == 1


LIVES: list[tuple[dict[str, Any], tuple[bool, bool]]] = [
    ({"restartCount": 0, "state": {"running": {"a": 1}}}, (True, False)),
    ({"restartCount": 2, "state": {"running": {"a": 1}}}, (True, True)),
    ({"restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"a": 1}}},
     (True, False)),
    ({"restartCount": 1, "state": {"terminated": {"a": 1}}, "lastState": {"terminated": {"a": 1}}}, (True, True)),
    ({"restartCount": 0, "state": {"terminated": {"a": 1}}}, (True, False)),
    ({"restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}, (False, False)),
    ({}, (False, False)),
]  # fmt: skip


@pytest.mark.parametrize(("status", "wanted"), LIVES)
def test_which_logs_there_are(status: dict[str, Any], wanted: tuple[bool, bool]) -> None:
    one = pod()
    one["status"]["containerStatuses"] = [{"name": "vllm", **status}]
    (container,) = containers_of(one)
    assert (container.started, container.restarted) == wanted


def test_a_sidecar_beside_an_engine_is_not_scraped() -> None:
    one = pod()
    one["spec"]["containers"].append({"name": "proxy", "image": "envoy:1", "ports": [{"containerPort": 15000}]})
    one["status"]["containerStatuses"].append({"name": "proxy", "state": {"running": {}}})
    assert [container.ports for container in containers_of(one)] == [(8000,), ()]


MASKED = [
    ({"env": [{"name": "HF_TOKEN", "value": "abc"}, {"name": "MAX_TOKENS", "value": "5"}]}, ["abc"], ["HF_TOKEN", "5"]),
    ({"args": ["--api-key", "tops3cret", "--model", "m"]}, ["tops3cret"], ["--api-key", "m"]),
    ({"command": ["sh", "-c", "vllm serve m --api-key tops3cret --port 1"]}, ["tops3cret"], ["--port 1"]),
    ({"args": ["--hf-token=tops3cret"]}, ["tops3cret"], ["--hf-token="]),
    ({"metadata": {"managedFields": ["tops3cret"], "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "tops3cret", "a": "b"}}}, ["tops3cret"], ['"a": "b"']),
    ({"message": "pull https://user:tops3cret@registry/x"}, ["tops3cret"], ["registry/x"]),
]  # fmt: skip


@pytest.mark.parametrize(("thing", "gone", "there"), MASKED)
def test_secrets_stay_in_the_cluster(thing: dict[str, Any], gone: list[str], there: list[str]) -> None:
    text = json.dumps(masked_object(thing))
    assert not any(word in text for word in gone)
    assert all(word in text for word in there)


def test_masked_logs_can_still_be_read() -> None:
    line = b"non-default args: {'model': 'm', 'api_key': ['sk-abcdefghijklmnop'], 'max_num_seqs': 5} \xff\n"
    told = masked_log(line)
    assert b"abcdefgh" not in told and told.endswith(b"\xff\n")
    assert b"'api_key': ['***'], 'max_num_seqs': 5" in told
    assert masked_log(b"plain\r\nlines\n") == b"plain\r\nlines\n"


@pytest.mark.parametrize("word", ["x", "deploy/x", "pods/x"])
def test_targets(word: str) -> None:
    assert str(target_of(word, None)) in ("x", "deploy/x")


def test_names_of_failures() -> None:
    assert named("W1129 10:00:00 throttled\nerror: boom\n") == ("failed", "boom")
    assert named("") == ("failed", "")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here to hold the calls against")
def test_the_real_kubectl_takes_every_call(cluster: Cluster) -> None:
    """Client side: it refuses no option, and gets as far as asking a server that is not there."""
    cluster(replicas(reply("get --raw", **FORBIDDEN), reply("port-forward", err="x\n", code=1)),
            "deploy/llm", "--for", "0.2s")  # fmt: skip
    seen: set[str] = set()
    real = Kubectl("kubectl", ["--server=http://127.0.0.1:9", "--kubeconfig=/dev/null"], time.monotonic() + 60)
    tail = ["logs", "--namespace=a", "b", "--container=c", "--timestamps", "--prefix", "--tail=5"]
    for words in [*cluster.asked(), tail]:
        shape = " ".join(word.partition("=")[0] for word in words)
        if words[0] == "config" or shape in seen:
            continue
        seen.add(shape)
        ran = real.run(words, 20.0, 1 << 20)
        assert ran.failure == "unreachable", (words, ran.told)
    assert len(seen) >= 4


def test_the_program_has_the_name_that_kubectl_looks_for() -> None:
    """A hyphen after the first word becomes an underscore."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-diagnose_llm"] == "diagnoser.__main__:kubectl"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here to find the plugin")
def test_the_real_kubectl_finds_it(cluster: Cluster) -> None:
    (cluster.home / "kubectl").unlink()
    plugin = cluster.home / "kubectl-diagnose_llm"
    code = "import sys; from diagnoser.cli import kubectl_plugin; sys.exit(kubectl_plugin())"
    plugin.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n')
    plugin.chmod(0o755)
    done = subprocess.run(
        ["kubectl", "diagnose-llm", "--help"], env=cluster.environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.startswith("usage: kubectl diagnose-llm"), done.stderr


def test_a_log_larger_than_allowed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kube_collect, "MOST_LOG", 100_000)
    for name, value in cluster.environment().items():
        monkeypatch.setenv(name, value)
    log = log_of("llm-0", minutes=59).encode() * 2
    lines = log.splitlines(keepends=True)
    replies = [
        reply("logs --tail=20000", out=b"".join(lines[-40:]).decode()),
        reply("logs", out=log[:100_000].decode()),
    ]
    (cluster.home / "replies.json").write_text(json.dumps(replies))
    raw = io.BytesIO()
    bundle = Bundle(raw, packed=False)
    kubectl = Kubectl("kubectl", [], time.monotonic() + 30)
    collector = _kube_collect.Collector(kubectl, target_of("llm-0", None), "prod", None, bundle)
    (container,) = containers_of(pod())
    collector.logs([container], lambda text: None)
    bundle.close({})
    (missing,) = bundle.missing
    assert missing["what"] == "middle of the log of llm-0/vllm"
    assert missing["by_hand"] == "kubectl logs --namespace=prod llm-0 --container=vllm --timestamps --prefix"
    raw.seek(0)
    with tarfile.open(fileobj=raw) as archive:
        text = archive.extractfile("llm-0/vllm.log").read()  # type: ignore[union-attr]
    assert text.startswith(lines[0]) and text.endswith(lines[-1])
    assert b"--limit-bytes=100000" in (cluster.home / "asked.jsonl").read_bytes()


def test_kubectl_is_not_there() -> None:
    with pytest.raises(CommandError, match="not found on PATH"):
        Kubectl("kubectl-of-nobody", [], 0.0)
