"""Addresses among the inputs: they are asked before the files are read, with the clock and the waiting of this machine.

Nothing here is loaded unless an address was given.
"""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from diagnoser.commands._errors import CommandError
from diagnoser.commands._terminal import is_terminal
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.observations import Gathered
from diagnoser.scraping import ranges
from diagnoser.scraping.address import Address, apart, parse_address
from diagnoser.scraping.fetch import Answer, Fetcher, FetchError, Limits
from diagnoser.scraping.rounds import Round, Rounds
from diagnoser.scraping.watch import Timing, timing, watch
from diagnoser.sources import InputError
from diagnoser.sources.names import expand

T = TypeVar("T")

#: A Prometheus server may think about a query for longer than an endpoint about its page.
_PATIENT = Limits(read=30.0, total=60.0)
#: A token file is one line; more is another file.
_TOKEN = 16 << 10


class Machine:
    """``scraping.World`` as it is."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and is_terminal(sys.stderr)
        self._width = 0

    def now(self) -> float:
        """Return the time of day."""
        return time.time()

    def passed(self) -> float:
        """Return seconds on a clock that goes on while the machine sleeps: the servers do."""
        clock = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
        return time.monotonic() if clock is None else time.clock_gettime(clock)

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def together(self, jobs: Sequence[Callable[[], T]], seconds: float) -> list[T | None]:
        """Do each job in a thread of its own; one that hangs is left behind and ends with the program."""
        done: list[T | None] = [None] * len(jobs)
        failed: list[BaseException] = []

        def work(at: int) -> None:
            try:
                done[at] = jobs[at]()
            except BaseException as error:  # a defect: it is told where the others are
                failed.append(error)

        threads = [threading.Thread(target=work, args=(at,), daemon=True) for at in range(len(jobs))]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        for thread in threads:
            # Short waits: on Windows a long one cannot be interrupted.
            while thread.is_alive() and time.monotonic() < end:
                thread.join(0.1)
        if failed:
            raise failed[0]
        return list(done)

    def tell(self, text: str) -> None:
        """Write on the line of a terminal that is written over; nothing elsewhere."""
        if self._shown:
            print("\r" + text.ljust(self._width) + ("" if text else "\r"), end="", file=sys.stderr, flush=True)
            self._width = len(text)


class Live:
    """What the command line asks of addresses; faulty ones are told before anything is waited for."""

    def __init__(self, names: Sequence[str], files: Sequence[str], args: argparse.Namespace) -> None:
        """Raise InputError or UsageError for what cannot be used; files that do not exist are found out first too."""
        self._addresses = apart([parse_address(name) for name in names])
        if len({one.name for one in self._addresses}) < len(self._addresses):
            raise InputError("an address is named twice")
        self._timing: Timing = timing(args.length, args.every)
        self._token = _token(args.bearer_token_file) if args.bearer_token_file else ""
        self._quiet = args.quiet
        self._alone = not files
        for name in files:
            if name != "-":
                list(expand(name, set()))

    def gather(self, vocabulary: Vocabulary) -> list[Gathered]:
        """Ask every address. Raises InputError when there are no files and no address gave anything."""
        from diagnoser.evidence.metered import Meter

        wanted, world = Meter(vocabulary).wanted, Machine(self._quiet)
        given: list[Gathered] = []
        pages = [one for one in self._addresses if one.asking is None]
        servers = [one for one in self._addresses if one.asking is not None]
        try:
            given.extend(ranges.gather(one, self._bounded(world), wanted, world) for one in servers)
            if pages:
                fetcher = Fetcher(world.passed, self._token)
                limit = fetcher.limits.connect + fetcher.limits.total
                given += watch(pages, fetcher.get, self._timing, limit, wanted, world)
        except KeyboardInterrupt:
            if not any(one.pages for one in given):
                raise
        if self._alone and not any(one.pages for one in given):
            raise InputError("; ".join(f"{one.name}: {problem.text}" for one in given for problem in one.problems))
        return given

    def standing(self, wanted: Callable[[str], bool], every: float) -> Standing:
        """Ask every address again and again. Raises InputError for one that cannot be asked so."""
        servers = [one.name for one in self._addresses if one.asking is not None]
        if servers:
            raise InputError(f"cannot follow {servers[0]}: a Prometheus server tells the past; follow its targets")
        world = Machine(True)
        fetcher = Fetcher(world.passed, self._token)
        limit = fetcher.limits.connect + fetcher.limits.total
        return Standing(Rounds(self._addresses, fetcher.get, limit, wanted, world), every)

    def _bounded(self, world: Machine) -> Callable[[Address, str, str], Answer]:
        """Return a way of asking that ends in time whatever the other side does."""
        fetcher = Fetcher(world.passed, self._token, _PATIENT)
        limit = _PATIENT.connect + _PATIENT.total

        def get(address: Address, target: str, accept: str) -> Answer:
            def job() -> Answer | FetchError:
                try:
                    return fetcher.get(address, target, accept)
                except FetchError as error:
                    return error

            (answer,) = world.together([job], limit)
            if isinstance(answer, Answer):
                return answer
            raise answer or FetchError(f"no answer within {limit:g} s", late=True)

        return get


class Standing:
    """Scrapes in a thread of its own: an endpoint that hangs holds up nothing else."""

    def __init__(self, rounds: Rounds, every: float) -> None:
        self._rounds, self._every = rounds, every
        # Rounds that nobody takes are not piled up.
        self._given: queue.Queue[list[Round]] = queue.Queue(4)
        self._failed: list[BaseException] = []
        threading.Thread(target=self._work, daemon=True).start()

    def poll(self) -> list[Round]:
        """Return what came since the last time."""
        if self._failed:
            raise self._failed[0]
        given: list[Round] = []
        while not self._given.empty():
            given += self._given.get_nowait()
        return given

    def _work(self) -> None:
        try:
            while True:
                began = time.monotonic()
                self._given.put(self._rounds.take())
                time.sleep(max(self._every - (time.monotonic() - began), 0.05))
        except BaseException as error:  # a defect: it is told where the others are
            self._failed.append(error)


def _token(name: str) -> str:
    """Read a bearer token; what is in the file is never quoted."""
    try:
        with Path(name).open("rb") as file:
            text = file.read(_TOKEN + 1).decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise CommandError(f"--bearer-token-file {name}: {error.strerror or error}") from None
    if not text or len(text) > _TOKEN or not text.isprintable() or " " in text:
        raise CommandError(f"--bearer-token-file {name}: expected one line with a token")
    return text


def forwarded(port: int, target: str, tls: bool) -> bytes:
    """Get a page from a port of this machine that leads into a pod. Raises ValueError in words."""
    address = parse_address(f"{'https' if tls else 'http'}://127.0.0.1:{port}{target}")
    try:
        return Fetcher(Machine(True).passed, "").get(address, address.target, "text/plain").body
    except FetchError as error:
        raise ValueError(str(error)) from None
