"""kubectl as a child process: argument lists and never a shell, bounded in time and size, its errors in few words."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from diagnoser.commands._errors import CommandError
from diagnoser.values import dataclass

#: What is kept of standard error, and one read of a pipe.
_SAID, _BLOCK = 16 << 10, 256 << 10
#: Between two looks at a child: how soon Ctrl-C and the time limit act.
_TICK = 0.05

#: What kubectl and API servers say, and the name of it; the first that fits counts.
_KINDS = (
    ("no previous log", r"previous terminated container"),
    ("not started", r"is waiting to start|PodInitializing|ContainerCreating"),
    ("forbidden", r"\(Forbidden\)|is forbidden|forbidden:"),
    ("no credentials", r"\(Unauthorized\)|must be logged in|provide credentials|credential plugin|exec: executable"),
    ("unreachable", r"Unable to connect to the server|was refused - did you specify|no such host|i/o timeout|"
                    r"TLS handshake timeout|x509:|connection to the server|no route to host"),
    ("no context", r"context .* does not exist|current-context is not set|context was not found|no configuration has"),
    ("no such kind", r"doesn't have a resource type"),
    ("not found", r"\(NotFound\)|not found|could not find the requested resource"),
    ("no answer", r"connection refused|\(ServiceUnavailable\)|error trying to reach service|\(BadGateway\)"),
)  # fmt: skip


@dataclass(slots=True, frozen=True)
class Ran:
    """How one call ended. ``failure`` is "" where it gave what was asked, else a name such as "forbidden".

    ``told`` is the failure in words; ``out`` is what came until then, at most as many bytes as were allowed.
    """

    words: tuple[str, ...]
    out: bytes
    failure: str = ""
    told: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer to read."""
        return not self.failure

    @property
    def by_hand(self) -> str:
        """The command as a person types it."""
        return shlex.join(self.words)


class Kubectl:
    """Calls kubectl with the same cluster options each time. Safe to use from several threads."""

    def __init__(self, program: str, options: Sequence[str], deadline: float) -> None:
        """Find the program. ``deadline`` is a time of ``time.monotonic()`` after which nothing is asked any more."""
        found = shutil.which(program)
        if found is None:
            raise CommandError(f"--kubectl {program}: not found on PATH" if program != "kubectl" else
                               "kubectl: not found on PATH; --kubectl PATH names it")  # fmt: skip
        self._program = found
        self._options = tuple(options)
        self._deadline = deadline
        self._stopped = threading.Event()
        self.commands: list[str] = []

    def words(self, *arguments: str) -> tuple[str, ...]:
        """Return a call as a person would type it."""
        return ("kubectl", *self._options, *arguments)

    def stop(self) -> None:
        """End every call that runs and let none begin."""
        self._stopped.set()

    def run(self, arguments: Sequence[str], seconds: float, most: int) -> Ran:
        """Call and wait until it ends, ``seconds`` pass, or more than ``most`` bytes come. A failure is told."""
        words = self.words(*arguments)
        left = self._deadline - time.monotonic()
        if left <= 0 or self._stopped.is_set():
            return Ran(words, b"", "no time", "the time for collecting was over")
        with self._started(arguments) as child:
            ended = self._wait(child, time.monotonic() + min(seconds, left), most)
        out = bytes(child.out[:most])
        if len(child.out) > most:
            return Ran(words, out, "too large", f"more than {most:,} bytes; the rest was left out")
        if not ended:
            return Ran(words, out, "no time", f"no end within {min(seconds, left):.0f} s")
        if child.process.returncode != 0:
            name, told = named(child.said())
            return Ran(words, out, name, told or f"exit code {child.process.returncode}")
        return Ran(words, out)

    def forward(self, arguments: Sequence[str], seconds: float) -> Forward:
        """Start a call that lasts (port-forward); the caller closes it."""
        child = self._started(arguments)
        end = time.monotonic() + min(seconds, max(0.0, self._deadline - time.monotonic()))
        return Forward(child, end, self._stopped.is_set)

    def _started(self, arguments: Sequence[str]) -> Child:
        self.commands.append(shlex.join(self.words(*arguments)))
        try:
            return Child([self._program, *self._options, *arguments])
        except OSError as error:
            raise CommandError(f"{self._program}: {error.strerror or error}") from None

    def _wait(self, child: Child, end: float, most: int) -> bool:
        while child.reading(_TICK):
            if time.monotonic() > end or len(child.out) > most or self._stopped.is_set():
                return False
        return child.ended(end)


class Child:
    """One process with its two outputs read side by side; closing it ends it and what it started."""

    def __init__(self, command: Sequence[str]) -> None:
        own_group = os.name == "posix"  # so that what it starts (plugins for credentials) ends with it
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=own_group,
        )
        self.out, self._err = bytearray(), bytearray()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.out.extend), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self._hear), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def said(self) -> str:
        """Return what it said on standard error."""
        return self._err.decode("utf-8", "replace")

    def reading(self, seconds: float) -> bool:
        """Wait a little; whether an output is still open."""
        for thread in self._threads:
            if thread.is_alive():
                thread.join(seconds)
                return any(one.is_alive() for one in self._threads)
        return False

    def ended(self, end: float) -> bool:
        """Wait for the process itself, which may outlive its outputs."""
        try:
            self.process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End it, kindly at first."""
        self._closed = True
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                self.process.wait(5)
        if any(thread.is_alive() for thread in self._threads):
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))  # somebody else holds the pipe
        for thread in self._threads:
            thread.join(1)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, number)
            else:
                self.process.terminate()

    def _hear(self, data: bytes) -> None:
        self._err.extend(data)
        del self._err[:-_SAID]

    def _read(self, pipe: object, take: Callable[[bytes], object]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self._closed and (data := pipe.read(_BLOCK)):  # type: ignore[attr-defined]
                take(data)


class Forward:
    """A port of a pod on this machine, while it is open."""

    _OPEN = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d{1,5}) -> ")

    def __init__(self, child: Child, end: float, stopped: Callable[[], bool]) -> None:
        self._child = child
        self.port = 0
        while time.monotonic() < end and not stopped():
            found = self._OPEN.search(child.out)
            if found is not None:
                self.port = int(found[1])
                break
            if not child.reading(_TICK):
                break

    @property
    def failure(self) -> tuple[str, str]:
        """Why there is no port, named and in words."""
        name, told = named(self._child.said())
        return (name, told) if told else ("no time", "port-forward did not open in time")

    def close(self) -> None:
        """End it."""
        self._child.close()


def named(said: str) -> tuple[str, str]:
    """Name what kubectl said on standard error, and cut it to its last telling line."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not re.match(r"[EWI]\d{4} ", line)]
    lines = lines or [line.strip() for line in said.splitlines() if line.strip()]
    name = next((kind for kind, pattern in _KINDS if re.search(pattern, said)), "failed")
    pattern = dict(_KINDS).get(name, ".")
    line = next((one for one in lines if re.search(pattern, one)), lines[-1] if lines else "")
    told = re.sub(r"\A(?:Error from server(?: \(\w+\))?|error): ", "", line)[:300]
    return name, f"{name}: {told}" if told and name != "failed" else told
