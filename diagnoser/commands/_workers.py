"""The workers that --jobs and --on name: processes of this machine, or an existing cluster."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from diagnoser.commands._errors import CommandError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from diagnoser.spreading.crew import Crew

#: More processes than any machine needs to read logs.
MOST_JOBS = 1024


def jobs(text: str) -> int:
    """Read a number of processes; ``auto`` is as many as this process may use processors."""
    if text == "auto":
        return processors()
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number of processes from 1 to {MOST_JOBS}, or auto; not {text!r}")
    return number


@contextmanager
def hired(args: argparse.Namespace) -> Iterator[Crew | None]:
    """Give the crew that the options ask for; None where one process is enough."""
    if args.on:
        if args.jobs != 1:
            raise CommandError("--jobs and --on: the cluster has its own number of workers; give one of the two")
        from diagnoser.commands._cluster import joined

        with joined(args.on) as crew:
            yield crew
        return
    size: int = args.jobs
    if size < 2:
        yield None
        return
    from diagnoser.spreading.crew import Crew

    crew = Crew(lambda: _processes(size), size, near=True)
    try:
        yield crew
    finally:
        crew.close()


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processes(size: int) -> Executor:
    # Forking beside threads is not safe, and other systems cannot.
    import signal
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    class Processes(ProcessPoolExecutor):
        """Processes that are deaf to Ctrl-C from their first instruction: they are started when work is given out."""

        def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
            if not hasattr(signal, "pthread_sigmask"):
                return super().submit(function, *given, **named)
            from multiprocessing import resource_tracker

            resource_tracker.ensure_running()  # which would take the mask away
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                return super().submit(function, *given, **named)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return Processes(size, mp_context=get_context("spawn"), initializer=_quiet)


def _quiet() -> None:
    """Leave Ctrl-C to the process that gives out the work."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
