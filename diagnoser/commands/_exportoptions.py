"""The options of `diagnose rules export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from diagnoser.commands._objectives import objectives
from diagnoser.commands._parser import Parser, one_of
from diagnoser.knowledge.vocabulary import ENGINES
from diagnoser.patterns import lazily

_NAME = lazily(r"[A-Za-z_]\w*\Z")
#: Labels that every alert has already.
_TAKEN = ("severity", "stage", "cause", "server", "alertname")


def add(parser: Parser) -> None:
    """Add them, in a group of their own."""
    group = parser.add_argument_group("export")
    group.add_argument(
        "--engine",
        metavar="NAME",
        type=one_of((*ENGINES, "all")),
        default="all",
        help=f"all (default), {', '.join(ENGINES)}",
    )
    group.add_argument("--manifest", action="store_true", help="a PrometheusRule for the operator, not a rule file")
    group.add_argument(
        "--for", dest="hold", metavar="TIME", type=_length(0), default=60, help="how long before it fires (default: 1m)"
    )
    group.add_argument(
        "--window", metavar="TIME", type=_length(60), default=600, help="how far conditions look back (default: 10m)"
    )
    group.add_argument(
        "--interval", metavar="TIME", type=_length(5), default=15, help="time between evaluations (default: 15s)"
    )
    group.add_argument(
        "--labels",
        metavar="K=V",
        type=_label,
        action="append",
        default=[],
        help="label of every alert; may be repeated",
    )
    group.add_argument(
        "--severity",
        metavar="LEVEL",
        type=one_of(("info", "warning", "critical")),
        default="warning",
        help="leave out what is below: info, warning (default), critical",
    )
    group.add_argument("--runbook-url", metavar="PREFIX", help="where docs/rules lies, for runbook_url")
    group.add_argument("--slo", metavar="LIST", type=objectives, help="objectives, such as ttft=500ms,tpot=50ms")
    group.add_argument(
        "--tests", metavar="FILE", help="also write unit tests for promtool, made from the rules' examples"
    )
    group.add_argument("--explain", action="store_true", help="say of every rule why it is exported or not")


def _length(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        from diagnoser.timefilter import parse_bound

        try:
            seconds = 0.0 if text in ("0", "0s") else parse_bound(text).back
        except ValueError:
            seconds = None
        if seconds is None or seconds < least or seconds != int(seconds):
            raise argparse.ArgumentTypeError(f"'{text}' is no length of time such as 30s, 5m or 1h, {least}s at least")
        return int(seconds)

    return read


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _NAME.match(name) or name in _TAKEN:
        raise argparse.ArgumentTypeError(f"'{text}' is no label such as team=llm (not one of {', '.join(_TAKEN)})")
    return name, value
