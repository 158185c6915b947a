"""``python -m benchmarks``: MB per CPU second of whole processes, beside other programs in the same run.

Every round runs each program once on the same file; figures are medians, ratios medians of the paired runs. Children
count. The table goes to ``docs/performance.md`` with ``--write``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks import inputs

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
#: What encloses each part of the page that a run may renew: speed, memory, rules.
MARKS = ("<!-- {}: written by `python -m benchmarks --write` -->", "<!-- end of {} -->")
NAMES = [
    *("access", "batches", "tracebacks"),
    *(f"{kind}+{wrap}" for kind in ("access", "batches") for wrap in ("kubectl", "cri", "docker", "colours")),
]
LITERALS = 40
#: What the process may take of memory that is its own, in the memory run.
LIMIT = 250_000_000
DIAGNOSE = [sys.executable, "-m", "diagnoser", "--exit-zero"]


def literals() -> list[str]:
    """Forty literals of shipped rules, spread over all of them, none of a line that every healthy log has."""
    from diagnoser.judging.loading import Knowledge
    from diagnoser.options import Options

    known = Knowledge(Options(cache_dir=None))
    found = sorted(one for one in known.matcher.anchors if len(one) >= 16 and one.isascii() and "HTTP/" not in one)
    return found[:: len(found) // LITERALS][:LITERALS]


def programs(wanted: list[str]) -> dict[str, list[str]]:
    """The commands, without the file, of what is installed."""
    either = "|".join(re.sub(r"[.^$*+?()\[\]{}|\\]", r"\\\g<0>", one) for one in wanted)
    made = {"diagnose": DIAGNOSE, "grep -cE": ["grep", "-cE", either]}
    if shutil.which("rg"):
        made["rg -c"] = ["rg", "-c", either]
    made["Python re"] = [sys.executable, "-m", "benchmarks.peers", "lines", either]
    if find_spec("drain3"):
        made["Drain3"] = [sys.executable, "-m", "benchmarks.peers", "drain"]
    if shutil.which("lnav"):
        made["lnav -n"] = ["lnav", "-n", "-c", ";select log_level, count(*) from all_logs group by 1"]
    return made


def run(command: list[str], environment: dict[str, str], stdin: int | None = None, limit: int = 0) -> tuple[float, int]:
    """CPU seconds and peak resident bytes of one process and what it started."""
    before = (lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))) if limit else None
    with subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT,
        preexec_fn=before,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while process.stdout.read(1 << 16):
            pass
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command[:4])} ... ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def throughput(names: list[str], size: int, rounds: int, environment: dict[str, str]) -> list[str]:
    """Rows of the table: an input each."""
    made = programs(literals())
    rows = [
        "| input | " + " | ".join(made) + " | diagnose : grep | peak RSS |",
        "|---" * (len(made) + 3) + "|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / f"{name}.log"
            with path.open("wb") as file:
                for piece in inputs.chunks(name, size):
                    file.write(piece)
            length = path.stat().st_size / 1e6
            took: dict[str, list[tuple[float, int]]] = {program: [] for program in made}
            run([*DIAGNOSE, str(path)], environment)
            for _ in range(rounds):
                for program, command in made.items():
                    took[program].append(run([*command, str(path)], environment))
            ratio = median(g[0] / d[0] for g, d in zip(took["grep -cE"], took["diagnose"], strict=True))
            cells = [f"{length / median(cpu for cpu, _ in took[program]):.0f}" for program in made]
            peak = max(rss for _, rss in took["diagnose"]) / 1e6
            rows.append(f"| {name} | {' | '.join(cells)} | {ratio:.3f} | {peak:.0f} MB |")
            print(rows[-1], flush=True)
            path.unlink()
    return rows


def memory(name: str, size: int, environment: dict[str, str]) -> str:
    """Read a stream of that size from the generator's pipe under a limit; one sentence."""
    maker = [sys.executable, "-m", "benchmarks.inputs", name, str(size / 1e6)]
    with subprocess.Popen(maker, stdout=subprocess.PIPE, cwd=ROOT) as source:
        assert source.stdout is not None
        seconds, peak = run([*DIAGNOSE, "-"], environment, source.stdout.fileno(), LIMIT)
    text = f"- {size / 1e9:.1f} GB of {name} from a pipe: {peak / 1e6:.0f} MB resident at most, {seconds:.0f} s of CPU."
    print(text, flush=True)
    return text


def curve(size: int, rounds: int, environment: dict[str, str]) -> list[str]:
    """CPU seconds by the number of rules: the shipped ones, and generated ones beside them."""
    rows = ["| rules beside the shipped ones | CPU s |", "|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "access.log"
        log.write_bytes(b"".join(inputs.chunks("access", size)))
        for count in (0, 50, 150, 300, 500):
            rules = folder / f"rules{count}" / "ingress"
            rules.mkdir(parents=True)
            for number in range(count):
                (rules / f"generated_{number}.yaml").write_text(_rule(number), encoding="utf-8")
            command = [*DIAGNOSE, *(["--rules", str(rules.parent)] if count else []), str(log)]
            run(command, environment)
            rows.append(f"| {count} | {median(run(command, environment)[0] for _ in range(rounds)):.2f} |")
            print(rows[-1], flush=True)
    return rows


def _rule(number: int) -> str:
    line = f"INFO 01-12 10:00:00 [api_server.py:1] generated complaint {number} of module {number * 7919 % 1000}"
    return f"""title: Generated rule {number}
stage: ingress
severity: warning
status: experimental
source: [benchmark]
events:
  made.event_{number}:
    title: generated complaint {number}
    vllm: "generated complaint {number} of module {number * 7919 % 1000}"
symptoms:
  made_symptom_{number}: count(made.event_{number}) >= 1
when: made_symptom_{number}
meaning: Nothing; it is generated.
impact: "{{count(made.event_{number}):int}} times"
false_positives: none
remedies:
  - action: nothing
verify: nothing
examples:
  fires:
    - name: the message
      log: ["{line}"]
  silent:
    - name: another message
      log: ["INFO 01-12 10:00:00 [api_server.py:1] all is well"]
"""


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"inputs: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--size", type=float, default=300, help="MB of each input (default 300)")
    parser.add_argument("--rounds", type=int, default=3, help="of the speed; 0: none (default %(default)s)")
    parser.add_argument("--memory", type=float, default=0, help="GB to read from a pipe under a memory limit")
    parser.add_argument("--curve", action="store_true", help="CPU seconds by the number of rules")
    parser.add_argument("--write", action="store_true", help=f"put the figures into {PAGE.relative_to(ROOT)}")
    said = parser.parse_args()
    if unknown := [name for name in said.names if name not in NAMES]:
        parser.error(f"no input {', '.join(unknown)}; there are {', '.join(NAMES)}")
    machine = (
        f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}, Python {platform.python_version()},"
        f" load average {os.getloadavg()[0]:.1f} at the start"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"LC_ALL": "C", "DIAGNOSE_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        size = int(said.size * 1e6)
        if said.rounds:
            head = f"{said.size:.0f} MB an input, medians of {said.rounds} rounds, {machine}. MB per CPU second:"
            write(said.write, "speed", [head, "", *throughput(said.names or NAMES, size, said.rounds, environment)])
        if said.memory:
            found = [memory(name, int(said.memory * 1e9), environment) for name in ("access", "batches")]
            limit = f"Under a limit of {LIMIT / 1e6:.0f} MB of data (RLIMIT_DATA), {machine}:"
            write(said.write, "memory", [limit, "", *found])
        if said.curve:
            head = f"CPU seconds over {said.size:.0f} MB of access, by the number of rules, {machine}:"
            write(said.write, "rules", [head, "", *curve(size, max(said.rounds, 1), environment)])


def write(wanted: bool, part: str, lines: list[str]) -> None:
    """Put what was measured into its part of the page."""
    if wanted:
        begin, end = (mark.format(part) for mark in MARKS)
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        page = "\n".join([head + begin, "", *lines, "", end + rest.partition(end)[2]])
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
