"""Fixtures that several test modules use."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serverlogs import compiled

from diagnoser.api import Knowledge, Options

Command = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure() -> None:
    """Let all processes of a run share what is compiled, and look for garbage as seldom as `diagnose` does."""
    compiled()
    gc.set_threshold(20_000)


@pytest.fixture(scope="session")
def command() -> Command:
    """Run `diagnose` in a clean environment; compiled rules are kept from one call to the next."""
    home = compiled()
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent.parent), "LC_ALL": "C.UTF-8"}

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "diagnoser", *arguments],
            env={**kept, "DIAGNOSE_CACHE_DIR": str(home), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Return the shipped rules, loaded once for all tests of a process."""
    import serverlogs

    return serverlogs.knowledge()


@pytest.fixture(scope="session")
def written() -> Knowledge:
    """Return the shipped rules with their examples: compiled from their files once for all tests of a process."""
    return Knowledge(Options())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let children take Ctrl-C where the tests run in the background: a shell has that ignored, which is inherited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
