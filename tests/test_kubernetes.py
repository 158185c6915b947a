"""Kubernetes: objects in JSON and YAML, described pods, events; what they say, of which run, and in which line."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnoser.api import Knowledge, Session
from diagnoser.evidence.lives import about
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.model import Problem, Record, Run
from diagnoser.observations import Claim
from diagnoser.sources import open_inputs
from diagnoser.sources.kinds import sniff
from diagnoser.tables.table import Origin
from diagnoser.traces import reader_of
from diagnoser.traces._kube_words import quantity, when
from diagnoser.traces._launch import launch, of_image

IMAGE = "vllm/vllm-openai:v0.9.2"


def container(name: str = "vllm", image: str = IMAGE, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def status(name: str = "vllm", ready: bool = False, restarts: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "restartCount": restarts, **more}


def ended(reason: str, code: int, start: str = "10:00:00", end: str = "10:10:32", **more: Any) -> dict[str, Any]:
    day = "2026-11-29T"
    times = {"startedAt": f"{day}{start}Z", "finishedAt": f"{day}{end}Z"}
    return {"terminated": {"reason": reason, "exitCode": code, **times, **more}}


def pod(*containers: dict[str, Any], name: str = "llm-0", spec: Any = None, **status_: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "managedFields": [{"fieldsV1": {"f:status": {'k:{"type":"Ready"}': {".": {}, "f:reason": {}}}}}],
        },
        "spec": {"containers": list(containers) or [container()], **(spec or {})},
        "status": status_,
    }


def event(reason: str, message: str, name: str = "llm-0", kind: str = "Pod", **more: Any) -> dict[str, Any]:
    about = {"kind": kind, "name": name, **more.pop("about", {})}
    return {"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message,
            "involvedObject": about, "lastTimestamp": "2026-11-29T10:00:00Z", **more}  # fmt: skip


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


FORMS = {
    "json": lambda thing: json.dumps(thing, indent=4),
    "compact": lambda thing: json.dumps(thing) + "\n",
    "yaml": lambda thing: yaml.safe_dump(thing),
    "documents": lambda thing: "---\n".join(
        yaml.safe_dump(one) for one in thing.get("items", [thing]) if isinstance(one, dict)
    ),
}


def told(text: str) -> list[Any]:
    (source,) = open_inputs(["-"], io.BytesIO(text.encode()))
    reader = reader_of(source)
    assert reader is not None, source.kind
    return list(reader.read(source, lambda name: True))


def sentences(text: str) -> list[str]:
    return [one.text for one in told(text) if isinstance(one, Record)]


def claims(text: str) -> dict[str, Any]:
    return {one.name: one.value for one in told(text) if isinstance(one, Claim)}


KINDS = [
    (FORMS["json"](pod()), "json"),
    (FORMS["yaml"](pod()), "yaml"),
    (FORMS["documents"](listed(pod(), pod())), "yaml"),
    ("# saved by hand\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", "yaml"),
    ("Name:         llm-0\nNamespace:    prod\nPriority:     0\n", "kubectl"),
    ("Name:                 llm-0\nPriority Class Name:  high\nNamespace:            prod\n", "kubectl"),
    ("LAST SEEN   TYPE      REASON   OBJECT      MESSAGE\n", "kubectl"),
    ("NAMESPACE   LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n", "kubectl"),
    ("Events:\n  Type     Reason   Age   From   Message\n  ----     ------   ----   ----   -------\n", "kubectl"),
    ("  Type     Reason   Age   From   Message\n  ----     ------   ----   ----   -------\n", "kubectl"),
    ("Events: none of them\nINFO 11-29 10:00:00 [x.py:1] y\n", "log"),
    ("Name: a server\nINFO 11-29 10:00:00 [x.py:1] y\n", "log"),
    ("apiVersion: of the log is 1\nINFO 11-29 10:00:00 [x.py:1] y\n", "log"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_kinds(text: str, kind: str) -> None:
    assert sniff(text.encode())[:2] == (kind, "ok")


#: What a pod holds -> the sentences that it gives.
STATES = [
    ({"containerStatuses": [status(ready=True, restarts=0, state={"running": {}})]}, []),
    (
        {"containerStatuses": [status(lastState=ended("OOMKilled", 137))]},
        ["container vllm of pod llm-0 terminated: reason OOMKilled, exit code 137, ran 632 s"],
    ),
    (
        {"containerStatuses": [status(state=ended("Error", 1, "10:00:00", "10:00:05"))]},
        ["container vllm of pod llm-0 terminated: reason Error, exit code 1, ran 5 s"],
    ),
    (
        {"containerStatuses": [status(state={"waiting": {"reason": "CrashLoopBackOff", "message": "back\n off"}})]},
        ["container vllm of pod llm-0 waits to be restarted: CrashLoopBackOff: back off"],
    ),
    (
        {"containerStatuses": [status(state={"waiting": {"reason": "ImagePullBackOff"}})]},
        ["container vllm of pod llm-0 cannot pull its image: ImagePullBackOff: no message"],
    ),
    (
        {"containerStatuses": [status(state={"waiting": {"reason": "CreateContainerError", "message": "no x"}})]},
        ["container vllm of pod llm-0 cannot be created: CreateContainerError: no x"],
    ),
    ({"containerStatuses": [status(state={"waiting": {"reason": "ContainerCreating"}})]}, []),
    ({"containerStatuses": [status("shipper", lastState=ended("OOMKilled", 137))]}, []),
    (
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "none"}]},
        ["pod llm-0 unschedulable: none"],
    ),
    ({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}, []),
    ({"reason": "Evicted", "message": "low on disk "}, ["pod llm-0 evicted: low on disk"]),
    (
        {"reason": "UnexpectedAdmissionError", "message": "no devices"},
        ["pod llm-0 refused by the node: UnexpectedAdmissionError: no devices"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("state", "said"), STATES)
def test_states(state: dict[str, Any], said: list[str], form: str) -> None:
    assert sentences(FORMS[form](pod(**state))) == said
    assert sentences(FORMS[form](listed(pod(**state), pod(container("redis", "redis:7"), name="cache-0")))) == said


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_sentence_stands_where_its_reason_does(form: str) -> None:
    text = FORMS[form](listed(pod(name="llm-1"), pod(containerStatuses=[status(lastState=ended("OOMKilled", 137))])))
    (record,) = (one for one in told(text) if isinstance(one, Record))
    assert "OOMKilled" in text.split("\n")[record.origin.line - 1]
    assert (record.time, record.stream) == (when("2026-11-29T10:10:32Z"), "llm-0/vllm")


def test_init_containers_and_native_sidecars() -> None:
    kept = {"initContainers": [container("fetch", "curl"), container("proxy", "envoy", restartPolicy="Always")]}
    failed = status("fetch", state=ended("OOMKilled", 137))
    thing = pod(spec=kept, initContainerStatuses=[failed, status("proxy", lastState=ended("Error", 1))])
    assert sentences(FORMS["json"](thing)) == [
        "init container fetch of pod llm-0 failed: reason OutOfMemory, exit code 137"
    ]
    done = status("fetch", state=ended("Completed", 0), lastState=ended("Error", 1))
    assert sentences(FORMS["json"](pod(spec=kept, initContainerStatuses=[done]))) == []


def test_a_pod_that_is_deleted_is_stopped_by_force() -> None:
    thing = pod(containerStatuses=[status(state=ended("Error", 137))])
    thing["metadata"]["deletionTimestamp"] = "2026-11-29T10:00:00Z"
    assert sentences(FORMS["json"](thing)) == []


def test_what_a_pod_is() -> None:
    limits = {"memory": "32Gi", "cpu": "7500m", "nvidia.com/gpu": "4"}
    args = ["--model=m", "-tp", "4", "--max-num-seqs", "256", "--enforce-eager", "--api-key", "sk-1"]
    one = container(
        args=args,
        resources={"limits": limits},
        startupProbe={"failureThreshold": 60},
        livenessProbe={"initialDelaySeconds": 120, "periodSeconds": 5},
        volumeMounts=[{"mountPath": "/dev/shm", "name": "shm"}],
    )
    volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    assert claims(FORMS["yaml"](pod(one, spec={"nodeName": "gpu-7", "volumes": volumes}))) == {
        "name": "llm-0", "engine": "vllm", "image": IMAGE, "image.version": "0.9.2", "node": "gpu-7",
        "--model": "m", "-tp": 4, "--max-num-seqs": 256, "--enforce-eager": True,
        "limits.memory": 32.0, "limits.cpu": 7.5, "limits.gpu": 4, "shm": 8.0,
        "startup.seconds": 600, "startup.period": 10, "liveness.seconds": 135, "liveness.period": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ({}, 0.0625),
        ({"hostIPC": True}, None),
        ({"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}, None),
    ],
)
def test_shared_memory(spec: dict[str, Any], size: float | None) -> None:
    mounts = [{"mountPath": "/dev/shm/", "name": "shm"}] if "volumes" in spec else []
    assert claims(FORMS["json"](pod(container(volumeMounts=mounts), spec=spec))).get("shm") == size
    cut = FORMS["json"](pod(container(volumeMounts=mounts), spec=spec))
    assert "shm" not in claims(cut[: cut.index('"status"')])


LAUNCHES = [
    (IMAGE, [], ["--max-model-len", "32k", "--no-enable-prefix-caching"], "vllm", "0.9.2",
     {"--max-model-len": 32000, "--no-enable-prefix-caching": False}),
    ("lmsysorg/sglang:v0.5.9-cu126", ["python3", "-m", "sglang.launch_server"], ["--tp=8", "--dtype", "half"],
     "sglang", "0.5.9", {"--tp": 8, "--dtype": "half"}),
    ("x/y:1", ["/bin/sh", "-c"], ["set -e\nexec vllm serve $MODEL \\\n --port 80 2>&1 | tee --append x"], "vllm", "",
     {"--port": 80}),
    ("x/y:1", ["vllm", "serve", "org/m", "--compilation-config", '{"level": 3}'], [], "vllm", "",
     {"--model": "org/m", "--compilation-config": '{"level": 3}'}),
    ("x/y:1", ["/start.sh"], ["--tp", "4"], "", "", {}),
    (IMAGE, ["/start.sh"], ["--tp", "4"], "vllm", "0.9.2", {}),
    (IMAGE, [], ["--served-model-name", "a", "b", "--seed", "'"], "vllm", "0.9.2",
     {"--served-model-name": "a b", "--seed": "'"}),
    ("x/y:1", ["python", "-m", "sglang_router.launch_router", "--policy", "cache_aware"], [], "sglang-router", "",
     {"--policy": "cache_aware"}),
]  # fmt: skip


@pytest.mark.parametrize(("image", "command", "args", "engine", "version", "flags"), LAUNCHES)
def test_launches(
    image: str, command: list[str], args: list[str], engine: str, version: str, flags: dict[str, Any]
) -> None:
    read = launch(image, command, args)
    assert (read.engine, read.version) == (engine, version)
    assert {flag: value for flag, value, _ in read.flags} == flags


@pytest.mark.parametrize(
    ("image", "engine", "version"),
    [
        ("rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702", "vllm", "0.9.1"),
        ("registry:5000/mirror/vllm-openai:v0.10.1.1", "vllm", ""),
        ("lmsysorg/sglang:v0.5.6.post2", "sglang", "0.5.6.post2"),
        ("vllm/vllm-openai:latest", "vllm", ""),
        ("vllm/vllm-openai@sha256:0123", "vllm", ""),
        ("registry/vllm/helper:1.2.3", "", ""),
        ("my-vllm-build:7.1.0", "vllm", ""),
        ("nginx:1.27.0", "", ""),
        ("", "", ""),
    ],
)
def test_images(image: str, engine: str, version: str) -> None:
    assert of_image(image) == (engine, version)


EVENTS = [
    (event("FailedScheduling", "0/5 nodes"), ["pod llm-0 unschedulable: 0/5 nodes"]),
    (event("FailedMount", "timed out", count=9), ["pod llm-0 cannot mount (9 times): timed out"]),
    (event("Evicted", "low on resource: memory"), ["pod llm-0 evicted: low on resource: memory"]),
    (
        event("Killing", "Container vllm failed liveness probe, will be restarted", type="Normal", count=2),
        ["container vllm of pod llm-0 is killed by its liveness probe (2 times)"],
    ),
    (
        event("Killing", "Killing container with id docker://vllm:Container failed liveness probe.. Container will be "
              "killed and recreated.", type="Normal"),
        ["container vllm of pod llm-0 is killed by its liveness probe (1 times)"],
    ),
    (event("Killing", "Stopping container vllm", type="Normal"), []),
    (
        event("Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503",
              about={"fieldPath": "spec.containers{vllm}"}),
        ["container vllm of pod llm-0: startup probe did not pass (1 times): HTTP probe failed with statuscode: 503"],
    ),
    (
        event("BackOff", "Back-off restarting failed container vllm in pod llm-0_prod(1)"),
        ["container vllm of pod llm-0 waits to be restarted: BackOff: "
         "Back-off restarting failed container vllm in pod llm-0_prod(1)"],
    ),
    (event("Failed", "Error: ErrImagePull"), ["pod llm-0 cannot pull its image: Failed: Error: ErrImagePull"]),
    (event("Scheduled", "Successfully assigned", type="Normal"), []),
    (event("NodeNotReady", "Node is not ready"), ["node of pod llm-0 is not ready: Node is not ready"]),
    (
        event("SystemOOM", "System OOM encountered, victim process: python3, pid: 7", "gpu-7", "Node"),
        ["node gpu-7: SystemOOM (1 times): System OOM encountered, victim process: python3, pid: 7"],
    ),
    (event("FailedCreate", "quota", "llm", "ReplicaSet"), []),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("thing", "said"), EVENTS)
def test_events(thing: dict[str, Any], said: list[str], form: str) -> None:
    assert sentences(FORMS[form](thing)) == said
    assert sentences(FORMS[form](listed(thing))) == said


def test_the_newer_api_of_events() -> None:
    thing = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "reason": "FailedScheduling",
             "note": "0/5 nodes", "regarding": {"kind": "Pod", "name": "llm-0"}, "series": {"count": 4},
             "eventTime": "2026-11-29T10:00:00.123456Z"}  # fmt: skip
    (record,) = told(FORMS["json"](thing))
    assert (record.text, record.time) == ("pod llm-0 unschedulable: 0/5 nodes", when("2026-11-29T10:00:00.123456Z"))


TABLES = [
    "LAST SEEN   TYPE      REASON             OBJECT          MESSAGE\n"
    "3m12s       Warning   FailedScheduling   pod/llm-0       0/5 nodes\n"
    "2m          Normal    Scheduled          pod/llm-0       assigned\n",
    "NAMESPACE   LAST SEEN               TYPE      REASON             OBJECT      MESSAGE\n"
    "prod        71s (x6 over 3m21s)     Warning   FailedScheduling   pod/llm-0   0/5 nodes\n",
    # Pasted, with the blanks gone.
    "LAST SEEN TYPE REASON OBJECT MESSAGE\n18s Warning FailedScheduling pod/llm-0 0/5 nodes\n",
    "LAST SEEN   TYPE      REASON             OBJECT      SUBOBJECT   SOURCE              MESSAGE     FIRST SEEN\n"
    "<unknown>   Warning   FailedScheduling   pod/llm-0               default-scheduler   0/5 nodes   <unknown>\n",
]


@pytest.mark.parametrize("text", TABLES)
def test_tables_of_events(text: str) -> None:
    assert sentences(text) == ["pod llm-0 unschedulable: 0/5 nodes"]
    assert all(one.time is None for one in told(text))


LISTS = {
    "Events:\n  Type     Reason            Age   From               Message\n"
    "  ----     ------            ----  ----               -------\n"
    "  Normal   Scheduled         13m   default-scheduler  Successfully assigned prod/llm-0 to gpu-7\n"
    "  Normal   Killing     3m (x3 over 11m)  kubelet  Container vllm failed startup probe, will be restarted\n": (
        "container vllm of pod llm-0 is killed by its startup probe (3 times)"
    ),
    "  Type     Reason   Age  From     Message\n  ----     ------   ---  ----     -------\n"
    "  Warning  Evicted  9s   kubelet  low on disk\n": "pod unnamed evicted: low on disk",
}


@pytest.mark.parametrize(("text", "said"), LISTS.items())
def test_events_that_were_copied_from_under_a_page(text: str, said: str) -> None:
    assert sentences(text) == [said]
    assert all(one.time is None for one in told(text))


DESCRIBED = """\
Name:             {name}
Namespace:        prod
Node:             gpu-7/10.0.0.7
Status:           Running
Init Containers:
  fetch:
    Image:          curl
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
    Ready:          True
    Restart Count:  0
Containers:
  vllm:
    Container ID:  containerd://1
    Image:         vllm/vllm-openai:v0.9.2
    Args:
      --model
      m
      --max-num-seqs=256
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Message:      {message}
      Exit Code:    1
      Started:      Sun, 29 Nov 2026 11:00:00 +0100
      Finished:     Sun, 29 Nov 2026 11:10:32 +0100
    Ready:          False
    Restart Count:  7
    Limits:
      memory:          32Gi
      nvidia.com/gpu:  2
    Requests:
      memory:          16Gi
    Startup:     http-get http://:8000/health delay=30s timeout=1s period=5s #success=1 #failure=12
    Mounts:
      /dev/shm from shm (rw)
  shipper:
    Image:          fluent/fluent-bit:3.1
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          True
    Restart Count:  3
    Mounts:         <none>
Conditions:
  Type              Status
  Ready             False
Volumes:
  shm:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     Memory
    SizeLimit:  2Gi
QoS Class:      Burstable
Events:
  Type     Reason     Age                  From     Message
  ----     ------     ----                 ----     -------
  Normal   Killing    61s (x4 over 21m)    kubelet  Container vllm failed startup probe, will be restarted
  Warning  Unhealthy  61s                  kubelet  Liveness probe failed: command "x" timed out
  Warning  BackOff    61s                  kubelet  Back-off restarting failed container shipper in pod llm-0_prod(1)
"""


def test_described_pods() -> None:
    text = DESCRIBED.format(name="llm-0", message="ValueError: m\nis: no model\n\n      Reason:  of a kind")
    facts = claims(text)
    wanted = {"--model": "m", "--max-num-seqs": 256, "limits.memory": 32.0, "limits.gpu": 2, "shm": 2.0, "restarts": 7,
              "startup.seconds": 90, "node": "gpu-7", "ready": False}  # fmt: skip
    assert {name: facts[name] for name in wanted} == wanted
    said = sentences(text)
    assert said[0] == "container vllm of pod llm-0 terminated: reason Error, exit code 1, ran 632 s"
    assert said[1].startswith("ValueError: m")
    assert said[-3:] == [
        "container vllm of pod llm-0 waits to be restarted: CrashLoopBackOff: no message",
        "container vllm of pod llm-0 is killed by its startup probe (4 times)",
        'pod llm-0: liveness probe did not pass (1 times): command "x" timed out',
    ]
    two = text + "\n\n" + DESCRIBED.format(name="llm-1", message="x")
    assert {one.stream.split("/")[0] for one in told(two)} == {"llm-0", "llm-1"}


def test_a_heading_that_comes_twice_begins_anew() -> None:
    """What is behind it belongs to none of the containers before it."""
    text = DESCRIBED.format(name="llm-0", message="x")
    twice = text.replace("Conditions:", "Containers:\n    State:  Waiting\n      Reason:  Lost\nConditions:")
    assert twice != text
    assert "Lost" not in " ".join(sentences(twice))


def test_last_words_are_the_server_s_own_lines() -> None:
    log = "INFO 11-29 10:00:00 [x.py:1] Received request 1: prompt: 'CUDA out of memory', params: x\n" + (
        "ERROR 11-29 10:00:01 [x.py:2] gone"
    )
    said = sentences(FORMS["json"](pod(containerStatuses=[status(lastState=ended("Error", 1, message=log))])))
    assert said[1:] == ["gone"]


HOSTILE: list[Any] = [
    pod(name="a\nterminated: reason OOMKilled\x1b[2J" * 50),
    pod(container("x" * 10_000), containerStatuses=[status("x" * 10_000, lastState=ended("OOMKilled\n", 137))]),
    pod(container(args=[{"a": 1}, None, 7, "x" * 100_000, "--" + "y" * 100_000])),
    pod(container(args="no list", command=7, resources={"limits": [1]}, volumeMounts={"a": 1}, startupProbe=[])),
    pod(containerStatuses=[{"name": {"a": 1}, "restartCount": "many", "state": [], "lastState": {"terminated": 7}}]),
    pod(containerStatuses=[status(lastState={"terminated": {"reason": 1, "exitCode": True, "finishedAt": "now"}})]),
    {"apiVersion": "v1", "kind": "Pod", "spec": [], "status": "gone", "metadata": None},
    {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [None, 1, []]}},
    event("FailedScheduling", "x" * 100_000, count=-1, lastTimestamp="0000-99-99"),
    {"apiVersion": "v1", "kind": "Event", "involvedObject": "x", "reason": None},
    {"apiVersion": "v1", "kind": "List", "items": [1, None, {"apiVersion": "v1", "kind": "Pod"}, {"items": []}]},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("thing", HOSTILE)
def test_hostile_objects(thing: dict[str, Any], form: str, knowledge: Knowledge) -> None:
    for one in told(FORMS[form](thing)):
        if isinstance(one, Record):
            assert "\x1b" not in one.text and "\n" not in one.text and len(one.text) < 2000
    Session(["-"], stdin=io.BytesIO(FORMS[form](thing).encode()), knowledge=knowledge)


BROKEN = [
    "apiVersion: v1\nkind: Pod\nmetadata: &a\n  name: *a\n",
    "apiVersion: v1\nkind: Pod\nmetadata: !!python/object:os.system {}\n",
    "apiVersion: v1\nkind: Pod\na: &a [x, x]\nb: [*a, *a]\n",
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n",
    "apiVersion: v1\nkind: Pod\nx: " + "[" * 5000 + "\n",
    '{"apiVersion": "v1", "kind": "Pod", "x": ' + "[" * 200_000,
    '{"apiVersion": "v1", "kind": "Pod", "x": ' + '{"a":' * 3000 + "1" + "}" * 3001,
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_not_read_is_told(text: str) -> None:
    given = told(text)
    assert any(isinstance(one, Problem) for one in given)


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_list_gives_the_pods_that_are_whole(form: str) -> None:
    state = {"containerStatuses": [status(lastState=ended("OOMKilled", 137))]}
    text = FORMS[form](listed(*(pod(name=f"llm-{number}", **state) for number in range(3))))
    for part in range(1, 20):
        cut = text[: len(text) * part // 20]
        (source,) = open_inputs(["-"], io.BytesIO(cut.encode()))
        if (reader := reader_of(source)) is None:
            continue
        said = [one for one in reader.read(source, lambda name: True) if isinstance(one, Record)]
        assert len(said) >= cut.count("OOMKilled") - 1
        assert all("OOMKilled" in one.text or "terminated" in one.text for one in said)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("32Gi", 32 * 2.0**30),
        ("500m", 0.5),
        ("2", 2.0),
        (8, 8.0),
        ("1e9", 1e9),
        ("64G", 64e9),
        ("x", None),
        (True, None),
    ],
)
def test_quantities(text: Any, amount: float | None) -> None:
    assert quantity(text) == amount


def test_flags_have_the_names_of_dumps(knowledge: Knowledge) -> None:
    catalog = Catalog(rules_dir())
    assert [catalog.dest("vllm", "-tp"), catalog.dest("sglang", "--tp")] == ["tensor_parallel_size", "tp_size"]
    one = container("sglang", "lmsysorg/sglang:v0.5.9", command=["python3", "-m", "sglang.launch_server", "--tp", "4"])
    (run,) = session(knowledge, **{"pod.json": FORMS["json"](pod(one))}).runs
    assert (run.facts["parallel.tp"].value, run.arguments["tp_size"].state) == (4, "set")
    assert (run.version, run.facts["version.image"].value) == ("0.5.9", "0.5.9")


def session(knowledge: Knowledge, **files: str) -> Session:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in files.items():
            paths.append(Path(folder) / name)
            paths[-1].write_text(content, encoding="utf-8")
        return Session(paths, knowledge=knowledge)


def log_of(stamp: str, minutes: int = 5, prefix: str = "", version: str = "0.9.2") -> str:
    """Write a vLLM log that begins at an hour of 2026-11-29 and only stops; ``prefix`` may hold ``{t}``."""
    hour, minute = map(int, stamp.split(":"))
    lines = [
        (0, f"[api_server.py:1] vLLM API server version {version}"),
        (40, "[api_server.py:2] Starting vLLM API server"),
    ]
    stats = (
        "[loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 100.0 tokens/s, "
        "Running: 12 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.6%, Prefix cache hit rate: 0.0%"
    )
    lines += [(60 + 10 * at, stats) for at in range(6 * minutes - 5)]
    out = []
    for second, text in lines:
        clock = f"{hour + (minute + second // 60) // 60:02}:{(minute + second // 60) % 60:02}:{second % 60:02}"
        out.append(f"{prefix.replace('{t}', f'2026-11-29T{clock}.000000000Z')}INFO 11-29 {clock} {text}\n")
    return "".join(out)


KILLED = {"containerStatuses": [status(lastState=ended("OOMKilled", 137, "10:00:00", "10:05:30"))]}

POD = FORMS["json"](pod(**KILLED))

#: Logs and pods -> for each run (stream or "" , whether the kill is its).
DEALT = [
    ("a log without a name and its pod", {"server.log": log_of("10:00"), "pod.json": POD},
     [("", True)]),
    ("full times", {"server.log": log_of("10:00", prefix="{t} "), "pod.json": POD}, [("", True)]),
    ("the log of the life after", {"server.log": log_of("10:06", prefix="{t} "), "pod.json": POD},
     [("", False), ("llm-0/vllm", True)]),
    ("two lives in one log", {"server.log": log_of("10:00", prefix="{t} ") + log_of("10:06", prefix="{t} "),
                              "pod.json": POD}, [("", True), ("", False)]),
    ("logs with the names of pods", {
        "server.log": log_of("10:00", prefix="[pod/llm-1/vllm] ") + log_of("10:00", prefix="[pod/llm-0/vllm] "),
        "pod.json": POD}, [("llm-1/vllm", False), ("llm-0/vllm", True)]),
    ("the log of another pod", {"server.log": log_of("10:00", prefix="[pod/llm-1/vllm] "),
                                "pod.json": POD}, [("llm-1/vllm", False), ("llm-0/vllm", True)]),
    ("files with the names of pods", {"llm-10.log": log_of("10:00"), "llm-0.log": log_of("10:00"),
                                      "pod.json": FORMS["json"](listed(pod(**KILLED), pod(name="llm-10")))},
     [("", False), ("", True)]),
    ("two pods and a log that is of neither", {
        "server.log": log_of("10:00"), "pod.json": FORMS["json"](listed(pod(**KILLED), pod(name="llm-1")))},
     [("", False), ("llm-0/vllm", True)]),
    ("no log", {"pod.json": POD}, [("llm-0/vllm", True)]),
    ("twice the same", {"a.json": POD, "b.yaml": FORMS["yaml"](pod(**KILLED))},
     [("llm-0/vllm", True)]),
]  # fmt: skip


@pytest.mark.parametrize(("files", "runs"), [case[1:] for case in DEALT], ids=[case[0] for case in DEALT])
def test_dealt_to_runs(files: dict[str, str], runs: list[tuple[str, bool]], knowledge: Knowledge) -> None:
    got = session(knowledge, **files)
    assert [(run.stream, "kube.oom_killed" in run.events) for run in got.runs] == runs
    assert [run.end == "killed" for run in got.runs] == [killed for _, killed in runs]
    assert all(run.events["kube.oom_killed"].count == 1 for run in got.runs if "kube.oom_killed" in run.events)
    assert [finding.id for finding in got.report.findings if finding.role == "root"] == ["memory.host_oom"]


def test_a_kill_without_a_time_is_of_the_life_that_ended(knowledge: Knowledge) -> None:
    """The table of events tells no times: the server that runs now must not be blamed for its predecessor's end."""
    probe = {"livenessProbe": {"initialDelaySeconds": 60, "periodSeconds": 10}}
    state = {"containerStatuses": [status(ready=True, lastState=ended("Error", 137, "10:00:00", "10:02:00"))]}
    table = (
        "LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
        "30m         Normal   Killing   pod/llm-0   Container vllm failed liveness probe, will be restarted\n"
    )
    got = session(
        knowledge,
        **{
            "now.log": log_of("10:06", prefix="{t} "),
            "pod.json": FORMS["json"](pod(container(**probe), **state)),
            "events.txt": table,
        },
    )
    assert ["kube.probe_kill" in run.events for run in got.runs] == [False, True]
    assert [(one.id, one.runs) for one in got.report.findings if one.role == "root"] == [("platform.slow_start", [1])]


def test_a_life_over_new_year_in_a_log_without_years() -> None:
    born, died = (datetime(*day, tzinfo=UTC).timestamp() for day in ((2000, 12, 31, 22), (2001, 1, 1, 0, 30)))
    run = Run(id=0, stream="", started=born, ended=died, time_known="yearless")
    for day, hour, where, mine in ((1, 0, "end", True), (1, 0, "", True), (9, 0, "end", False), (9, 0, "", False)):
        time = datetime(2027, 1, day, hour, 31, tzinfo=UTC).timestamp()
        record = Record(Origin("pod.json", 1), "pod llm-0 is told of", time=time, where=where)
        assert (about(record, [run]) is run) is mine, (day, where)


def test_a_healthy_pod_adds_nothing(knowledge: Knowledge) -> None:
    ready = status(ready=True, restarts=0, state={"running": {"startedAt": "2026-11-29T09:59:58Z"}})
    text = FORMS["json"](pod(container(args=["--model", "m"]), containerStatuses=[ready]))
    beside = session(knowledge, **{"server.log": log_of("10:00"), "pod.json": text})
    alone = session(knowledge, **{"server.log": log_of("10:00")})
    assert [one.id for one in beside.report.findings] == [one.id for one in alone.report.findings] == []
    assert len(beside.runs) == 1
    by_itself = session(knowledge, **{"pod.json": text}).report
    assert (by_itself.findings, by_itself.healthy, by_itself.runs[0].engine) == ([], True, "vllm")


def test_the_log_wins_and_what_the_pod_sets_is_not_advised_again(knowledge: Knowledge) -> None:
    text = FORMS["json"](pod(container(args=["--max-num-seqs", "12"])))
    log = log_of("10:00").replace("INFO 11-29 10:00:40", "INFO 11-29 10:00:39 [utils.py:1] non-default args: "
                                  "{'model': 'm', 'max_num_seqs': 64}\nINFO 11-29 10:00:40")  # fmt: skip
    (run,) = session(knowledge, **{"server.log": log, "pod.json": text}).runs
    assert run.facts["limits.running"].value == 64
    (run,) = session(knowledge, **{"server.log": log_of("10:00"), "pod.json": text}).runs
    assert (run.facts["limits.running"].value, run.facts["limits.running"].state) == (12, "set")


def test_events_alone_of_several_pods(knowledge: Knowledge) -> None:
    """Whose they are is told by GPUs, by an image, or by the name; what is said of other pods is nobody's."""
    things = [
        event("FailedScheduling", "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.", "chat-0"),
        event("FailedScheduling", "0/5 nodes are available: 5 Insufficient memory.", "redis-0"),
        event("Evicted", "The node was low on resource: ephemeral-storage.", "vllm-7b-0"),
        event("Failed", f'Failed to pull image "{IMAGE}": not found', "rag-0"),
    ]
    got = session(knowledge, **{"events.json": FORMS["json"](listed(*things))})
    assert [run.stream.split("/")[0] for run in got.runs] == ["chat-0", "vllm-7b-0", "rag-0"]
    causes = {"platform.unschedulable", "platform.evicted", "platform.pod_start"}
    assert {one.id for one in got.report.findings} == causes


def test_a_node_counts_where_the_pod_is(knowledge: Knowledge) -> None:
    xid = event("XidError", "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", "gpu-7", "Node")
    for node, fires in (("gpu-7", True), ("gpu-9", False)):
        text = FORMS["json"](listed(pod(spec={"nodeName": node}), xid))
        found = {one.id for one in session(knowledge, **{"all.json": text}).report.findings}
        assert ("platform.hardware_fault" in found) is fires


def test_a_log_line_is_no_sentence_about_a_pod(knowledge: Knowledge) -> None:
    text = log_of("10:00") + "INFO 11-29 10:09:00 [x.py:1] pod llm-0 unschedulable: 0/5 nodes\n"
    assert "kube.unschedulable" not in session(knowledge, **{"server.log": text}).runs[0].events


def test_unknown_warnings_are_shown(knowledge: Knowledge) -> None:
    text = FORMS["json"](listed(pod(), event("FailedCreatePodSandBox", "cni plugin not initialized")))
    report = session(knowledge, **{"all.json": text}).report
    assert ["FailedCreatePodSandBox" in one.template for one in report.unrecognised] == [True]


@pytest.mark.parametrize(
    ("state", "ends"),
    [
        ({"Running": False, "OOMKilled": True, "ExitCode": 137}, ["reason OOMKilled, exit code 137, ran 240 s"]),
        ({"Running": False, "OOMKilled": False, "ExitCode": 1}, ["reason Error, exit code 1, ran 240 s"]),
        ({"Running": True, "OOMKilled": False, "ExitCode": 0}, []),
        ({"Running": False, "OOMKilled": False, "ExitCode": "?"}, []),
    ],
)
def test_docker_tells_an_end_as_kubernetes_does(tmp_path: Path, state: dict[str, Any], ends: list[str]) -> None:
    times = {"StartedAt": "2026-11-29T10:00:00.120Z", "FinishedAt": "2026-11-29T10:04:00.5Z"}
    one = {"Path": "vllm", "Args": ["serve", "m"], "State": {**state, **times}, "Name": "/llm-1", "RestartCount": 2}
    path = tmp_path / "inspect.json"
    path.write_text(json.dumps([{**one, "Config": {"Image": IMAGE}, "HostConfig": {"Memory": 0}}], indent=1))
    (source,) = open_inputs([str(path)], io.BytesIO())
    reader = reader_of(source)
    assert reader is not None and reader.NAME == "docker-inspect"
    said = list(reader.read(source, lambda name: True))
    told = [record.text for record in said if isinstance(record, Record)]
    assert [text.split("terminated: ")[1] for text in told] == ends
    claims = {claim.name: claim.value for claim in said if isinstance(claim, Claim)}
    assert claims["image.version"] == "0.9.2" and claims["restarts"] == 2 and "limits.memory" not in claims


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        (["llm-0 0/1 CrashLoopBackOff 14 (2m11s ago) 63m"],
         ["container llm-0 of pod llm-0 waits to be restarted: CrashLoopBackOff: no message"]),
        (["llm-0 0/1 Init:ImagePullBackOff 0 63m"],
         ["init container unnamed of pod llm-0 cannot pull its image: ImagePullBackOff: no message"]),
        (["prod llm-0 0/2 OOMKilled 2 3d2h 10.0.0.1 gpu-7 <none> <none>"],
         ["container llm-0 of pod llm-0 terminated: reason OOMKilled, exit code 137"]),
        (["llm-0 0/1 Evicted 0 3d"], ["pod llm-0 evicted: no message"]),
        (["llm-0 0/1 OutOfcpu 0 3d"], ["pod llm-0 refused by the node: OutOfcpu: no message"]),
        (["llm-0 0/1 CreateContainerConfigError 0 3d"],
         ["container llm-0 of pod llm-0 cannot be created: CreateContainerConfigError: no message"]),
        (["llm-0 1/1 Running 3 (3d2h ago) 3d2h", "llm-warmup-1 0/1 Completed 0 1h", "llm-1 0/1 Pending 0 4s"], []),
        (["llm-0 1/1 Running 0 3d", "grafana-0 0/1 CrashLoopBackOff 900 3d"], []),
        (["grafana-0 1/1 Running 0 3d", "redis-0 0/1 CrashLoopBackOff 900 3d"], []),
        (["qwen-a 1/1 Running 0 3d", "qwen-b 0/1 CrashLoopBackOff 9 3d"],
         ["container qwen-b of pod qwen-b waits to be restarted: CrashLoopBackOff: no message"]),
        (["llm-0 zero/1 CrashLoopBackOff many", "", "llm-0"], []),
    ],
)  # fmt: skip
def test_the_table_of_pods(rows: list[str], sentences: list[str]) -> None:
    """Of servers only, where the table has others too; of a state that leaves the reason open nothing is said."""
    said = told("\n".join(["NAME   READY   STATUS   RESTARTS   AGE", *rows]) + "\n")
    assert [one.text for one in said if isinstance(one, Record)] == sentences
