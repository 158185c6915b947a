"""`python -m tools.fuzz`: feeds readers what nobody would write, until one raises, hangs or takes too much.

``run`` makes inputs by number, without any library; ``guided`` keeps those that reach new code, with atheris, which has
wheels for Linux. Either prints the input that failed, and ``show`` writes it out. ``faults`` damages whole samples.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import pkgutil
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tools.fuzz.mutation import mutated
from tools.fuzz.targets import TARGETS, words

#: Seconds of processor time that one input may take, the slowest reader included, and mebibytes that a run may grow.
TIME, GROWTH = 4.0, 400


class FailureError(Exception):
    """What an input did that it must not; the cause is the exception behind it."""


class LateError(BaseException):
    """An input took too long. No ``OSError`` as ``TimeoutError`` is: a reader may catch that."""


def one(name: str, data: bytes, limit: float = TIME) -> float:
    """Run one input and return the seconds it took. Raises FailureError."""

    def late(_: int, frame: FrameType | None) -> None:
        raise LateError(f"more than {limit:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    start = time.process_time()
    try:
        TARGETS[name].run(data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise FailureError(f"{name}: {type(error).__name__}: {str(error)[:200]}") from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start


def many(name: str, first: int, count: int, seconds: float, keep: Path | None) -> int:
    """Run inputs by number; return how many failed in ways that none before them did."""
    seeds, pieces = TARGETS[name].seeds(), sorted(set(words(name)))
    seen: set[str] = set()
    start = time.monotonic()
    slowest, slow = 0.0, 0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    number = first
    for number in range(first, first + count):
        if time.monotonic() - start > seconds:
            break
        try:
            took = one(name, mutated(seeds, pieces, number))
        except FailureError as failure:
            frames = traceback.extract_tb(failure.__cause__.__traceback__ if failure.__cause__ else None)
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
            if place not in seen:
                seen.add(place)
                print(f"{name} {number}: {failure} at {place}", flush=True)
                if keep is not None:
                    (keep / f"{name}-{number}").write_bytes(mutated(seeds, pieces, number))
            continue
        if took > slowest:
            slowest, slow = took, number
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) >> 10
    print(
        f"{name}: {number - first + 1:,} inputs in {time.monotonic() - start:.0f} s, {len(seen)} kinds of failure, "
        f"slowest {slowest:.2f} s (number {slow}), {grown} MiB grown",
        flush=True,
    )
    return len(seen) + (grown > GROWTH)


def guided(names: Sequence[str], seconds: int, keep: Path) -> int:
    """Run inputs that coverage chooses, of each reader until the time is over or one fails; return how many failed."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    import diagnoser

    with atheris.instrument_imports(include=["diagnoser"]):
        for module in pkgutil.walk_packages(diagnoser.__path__, "diagnoser."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    failed = []
    for name in names:
        corpus = keep / name
        corpus.mkdir(parents=True, exist_ok=True)
        for seed in TARGETS[name].seeds():
            (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
        # libFuzzer ends its process, and to prepare the code for it takes longer than a short run.
        if (child := os.fork()) == 0:
            options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=1500", f"-max_len={20_000}"]
            atheris.Setup(["fuzz", *options, f"-artifact_prefix={keep}/{name}-", str(corpus)], TARGETS[name].run)
            atheris.Fuzz()
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            failed.append(name)
    print(
        f"{len(names)} readers guided by coverage, {seconds} s each: {', '.join(failed) or 'none'} failed", flush=True
    )
    return len(failed)


def faults(first: int, count: int, seconds: float) -> int:
    """Inject faults by number; return 1 when one gave a finding that the whole input does not."""
    from tools.fuzz.faults import FAIR, inject

    done: dict[str, int] = {}
    wrong, start = 0, time.monotonic()
    for number in range(first, first + count):
        if time.monotonic() - start > seconds:
            break
        got = inject(number)
        kind = "refused" if got.error else "new" if got.new else "less" if got.missed else "same"
        kind += " (fair)" if got.new and got.fault in FAIR else ""
        done[kind] = done.get(kind, 0) + 1
        if got.new:
            print(f"{number}: {got.fault} of {got.sample}/{got.file}: {', '.join(sorted(got.new))}", flush=True)
            wrong += got.fault not in FAIR
    print(f"{sum(done.values())} faults in {time.monotonic() - start:.0f} s: {done}")
    return int(wrong > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("what", choices=["run", "guided", "show", "faults"])
    parser.add_argument("target", nargs="?", choices=sorted(TARGETS), help="default: all, one after the other")
    parser.add_argument("--seconds", type=int, default=60, help="of each target (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--count", type=int, default=1 << 60, help="inputs at most")
    parser.add_argument("--keep", type=Path, help="folder for inputs that failed, and for those of a guided run")
    args = parser.parse_args(arguments)
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    if args.what == "guided":
        if args.keep is None:
            parser.error("guided needs --keep FOLDER")
        return guided([args.target] if args.target else sorted(TARGETS), args.seconds, args.keep)
    if args.what == "faults":
        return faults(args.first, min(args.count, 100_000), args.seconds)
    names = [args.target] if args.target else sorted(TARGETS)
    if args.what == "show":
        seeds, pieces = TARGETS[args.target].seeds(), sorted(set(words(args.target)))
        sys.stdout.buffer.write(mutated(seeds, pieces, args.first))
        return 0
    return int(sum(many(name, args.first, args.count, args.seconds, args.keep) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())
