"""`--alert FILE`: the body of a webhook, from a file or from standard input."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from diagnoser import alerts
from diagnoser.commands._errors import CommandError


def asked(args: argparse.Namespace, inputs: list[str]) -> alerts.Alert:
    """Read the alert that --alert names; its times stand in for --since and --until where these are not given."""
    if args.alert is None:
        raise CommandError(
            "--log-zone: is for --alert, whose times are UTC; --since and --until are in the log's clock"
        )
    alert, since, until = read(args.alert, inputs, args.log_zone)
    args.since, args.until = args.since or since, args.until or until
    return alert


def read(name: str, inputs: list[str], zone: str | None) -> tuple[alerts.Alert, str | None, str | None]:
    """Return the alert and both ends of its time in the log's clock, None where open. Raises CommandError."""
    try:
        ahead = alerts.offset(zone or "Z")
    except ValueError as error:
        raise CommandError(f"--log-zone: {error}") from None
    try:
        alert = alerts.read(_text(name, inputs))
        return alert, *alert.bounds(ahead)
    except (alerts.AlertError, OverflowError) as error:
        raise CommandError(f"--alert {name}: {error}") from None


def _text(name: str, inputs: list[str]) -> str:
    if name == "-":
        if "-" in inputs or sys.stdin is None:
            raise CommandError("--alert -: standard input is what is diagnosed; save the alert to a file")
        data = sys.stdin.buffer.read(alerts.MOST_BYTES + 1)
    else:
        path = Path(name)
        if not path.is_file():
            raise CommandError(f"--alert {name}: no such file")
        try:
            with path.open("rb") as file:
                data = file.read(alerts.MOST_BYTES + 1)
        except OSError as error:
            raise CommandError(f"--alert {name}: {error.strerror}") from None
    if len(data) > alerts.MOST_BYTES:
        raise CommandError(
            f"--alert {name}: more than {alerts.MOST_BYTES >> 20} MiB; give the body of one notification"
        )
    return data.decode("utf-8-sig", "replace")
