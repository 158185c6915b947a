"""An existing Dask cluster as workers: only the scheduler that --on names is asked.

Nothing here is loaded unless --on was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from diagnoser.commands._errors import CommandError
from diagnoser.spreading.crew import Crew

#: Seconds until a scheduler that does not answer counts as absent.
PATIENCE = 10
#: Workers that may die over one task before it is given up.
RETRIES = 3

_ADDRESS = re.compile(r"dask://([\w.-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})/?")


@contextmanager
def joined(address: str) -> Iterator[Crew]:
    """Give the workers of a cluster as a crew. Raises CommandError where there is none."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise CommandError(f"--on {address}: expected dask://HOST:PORT, the address of a Dask scheduler")
    try:
        from distributed import Client
    except ImportError:
        raise CommandError("--on: needs the extra 'dask': pip install 'diagnoser[dask]'") from None
    _hush()
    try:
        client: Any = Client(  # type: ignore[no-untyped-call,unused-ignore]
            f"tcp://{found[1]}:{found[2]}", timeout=PATIENCE, set_as_default=False
        )
    except (OSError, TimeoutError):
        raise CommandError(f"--on {address}: no Dask scheduler answers there") from None
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise CommandError(f"--on {address}: the scheduler has no workers")
        yield Crew(lambda: _executor(client), threads)
    finally:
        client.close(timeout=PATIENCE)


def _executor(client: Any) -> Executor:
    """Return the cluster as an executor. It hands the tasks of a worker that died to another one itself."""
    return client.get_executor(pure=False, retries=RETRIES)  # type: ignore[no-any-return]


def _hush() -> None:
    """Keep the library's own log off standard error: what matters is in the report."""
    import logging

    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
