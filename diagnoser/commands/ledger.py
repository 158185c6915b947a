"""`diagnose ledger`: the table of a tuning session, one row a run, kept in a file that is named each time."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

from diagnoser.commands import _cache, _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._options import width
from diagnoser.commands._parser import Parser, add_common, one_of
from diagnoser.commands._progress import Progress

HELP = "a tuning session's table: one row a run, what changed, what it did"
DESCRIPTION = """\
  diagnose ledger add --ledger FILE --note "160 seqs" after.log    add one run (logs, metrics, saved reports)
  diagnose ledger show --ledger FILE                               the table, with what changed from row to row
  diagnose ledger export --ledger FILE --format csv                the same for a spreadsheet or a ticket"""
_ACTIONS = ("add", "show", "export")
_NOTE = 500


def main(arguments: Sequence[str]) -> int:
    """Dispatch to add, show or export."""
    args = _parser().read(arguments)
    if args.action is None:
        raise CommandError(f"ledger: say what to do: {', '.join(_ACTIONS)}")
    if not args.ledger:
        raise CommandError(f"ledger {args.action}: name the file: --ledger FILE (or DIAGNOSE_LEDGER)")
    path = Path(args.ledger)
    if args.action == "add":
        return _add(args, path)
    if args.inputs:
        raise CommandError(f"ledger {args.action}: takes no input; to add one: diagnose ledger add")
    from diagnoser.commands import _ledgerfile, _ledgertable

    _terminal.check_output(args.output, [args.ledger])
    rows = _ledgertable.table(_ledgerfile.read(path))
    if args.action == "show":
        options = _terminal.render_options("never", args.width, args.output is not None)
        _terminal.write(_ledgertable.text(rows, options), args.output)
    else:
        render = _ledgertable.markdown if args.format == "markdown" else _ledgertable.csv_text
        _terminal.write(render(rows), args.output, for_people=False)
    return 0


def _add(args: argparse.Namespace, path: Path) -> int:
    if not args.inputs:
        raise CommandError("ledger add: name the inputs of one run")
    if "-" in args.inputs:
        raise CommandError("ledger add: standard input cannot be told from another; name files")
    _terminal.check_output(args.ledger, args.inputs, "--ledger")
    from datetime import UTC, datetime

    from diagnoser.api import Options
    from diagnoser.commands import _ledgerfile
    from diagnoser.comparing.session import row
    from diagnoser.reports.safe import line
    from diagnoser.reports.summary import recognised
    from diagnoser.sides import reports

    options = Options(gpu=args.gpu, rules=tuple(args.rules), cache_dir=_cache.folder(args.cache_dir))
    with Progress("reading", args.quiet):
        digest = _digest(args.inputs)
        found = reports(args.inputs, options)
    new = row(found)
    if new is None or not any(map(recognised, found)):
        raise CommandError("ledger add: nothing in the input looks like an inference server's")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    number, added = _ledgerfile.add(path, digest, now, line(args.note)[:_NOTE], new)
    if not args.quiet:
        said = f"row {number} added" if added else f"this content is row {number} already; nothing was added"
        _terminal.say(f"{args.ledger}: {said}")
    return 0


def _digest(names: Sequence[str]) -> str:
    """One digest of the content of all files, whatever their names and order."""
    from diagnoser.sources.names import expand

    listed: set[tuple[int, int]] = set()
    found = []
    for name in names:
        for path, _ in expand(name, listed):
            if not path.is_file():
                raise CommandError(f"ledger add: {path}: a pipe or device cannot be read twice; save it to a file")
            with path.open("rb") as file:
                found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _parser() -> Parser:
    usage = "diagnose ledger ACTION --ledger FILE [OPTION ...] [INPUT ...]"
    parser = Parser("diagnose ledger", DESCRIPTION, "DIAGNOSE_LEDGER", usage=usage)
    parser.add_argument("action", metavar="ACTION", nargs="?", type=one_of(_ACTIONS), help=", ".join(_ACTIONS))
    parser.add_argument("inputs", metavar="INPUT", nargs="*", help="add: the inputs of one run")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger; add makes it")
    parser.add_argument("--note", metavar="TEXT", default="", help="add: what this run was about")
    parser.add_argument(
        "--format", metavar="NAME", type=one_of(("csv", "markdown")), default="csv", help="export: csv, markdown"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="show, export: write there")
    parser.add_argument("--gpu", metavar="NAME", help="add: such as H100, when the log does not show it")
    parser.add_argument("--width", metavar="N", type=width, help="show: columns (default: the terminal's)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where compiled rules are kept; 'none': nowhere")
    add_common(parser)
    parser.common.add("ledger")
    return parser
