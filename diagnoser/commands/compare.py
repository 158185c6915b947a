"""`diagnose compare`: two runs side by side, and whether what changed has one cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diagnoser.commands import _cache, _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._options import add_redact, width
from diagnoser.commands._parser import Parser, add_common, add_language, one_of
from diagnoser.commands._progress import Progress

if TYPE_CHECKING:
    from diagnoser.contracts.comparison import Comparison
    from diagnoser.language import Say

HELP = "two runs side by side: better or worse, and why"
DESCRIPTION = """\
  diagnose compare before.log after.log            logs, folders, metrics pages, saved JSON reports
  diagnose compare a.log a.prom --with b.log b.prom    several inputs a side

Says whether the second is better or worse, by which figure, and whether one change explains it. What counts
as shown: docs/compare.md.

exit code: 0, 1 with --fail-on when it applies, 2 could not run"""
_FORMATS = ("text", "json", "markdown")
_FAILS = {"never": (), "worse": ("worse", "mixed"), "unclear": ("worse", "mixed", "cannot tell")}


def main(arguments: Sequence[str]) -> int:
    """Read both sides, print what differs."""
    args = _parser().read(arguments)
    before, after = _sides(args.inputs, args.with_)
    _terminal.check_output(args.output, [*before, *after])
    from diagnoser.api import Knowledge, Options
    from diagnoser.sides import compared, reports

    options = Options(
        engine=args.engine,
        engine_version=args.engine_version,
        gpu=args.gpu,
        rules=tuple(args.rules),
        cache_dir=_cache.folder(args.cache_dir),
        lang=args.lang,
    )
    with Progress("reading", args.quiet) as progress:
        knowledge = Knowledge(options)
        sides = [reports(side, options, knowledge, opened=progress.watch) for side in (before, after)]
    from diagnoser.reports.summary import recognised

    for name, side in zip((before, after), sides, strict=True):
        if not any(map(recognised, side)):
            raise CommandError(f"compare: nothing in {name[0]} looks like an inference server's")
    comparison = compared(sides[0], sides[1], knowledge.say)
    _terminal.write(_text(comparison, args, knowledge.say), args.output, for_people=args.format == "text")
    return int(comparison.verdict in _FAILS[args.fail_on])


def _sides(inputs: list[str], with_: list[str] | None) -> tuple[list[str], list[str]]:
    if with_:
        if not inputs:
            raise CommandError("compare: name what to compare with: diagnose compare BEFORE ... --with AFTER ...")
        sides = inputs, with_
    elif len(inputs) == 2:
        sides = inputs[:1], inputs[1:]
    else:
        told = "give two inputs" if len(inputs) < 2 else "which of these are the second side?"
        raise CommandError(f"compare: {told}: diagnose compare BEFORE AFTER, or BEFORE ... --with AFTER ...")
    if "-" in (*sides[0], *sides[1]):
        raise CommandError("compare: standard input cannot be compared; name files")
    return sides


def _text(comparison: Comparison, args: object, say: Say) -> str:
    form = args.format  # type: ignore[attr-defined]
    redact = args.redact  # type: ignore[attr-defined]
    if form == "markdown" if redact is None else redact:
        from diagnoser.reports.redacting import Redactor

        comparison = Redactor(_terminal.folder()).of(comparison)
    if form == "json":
        from diagnoser.reports.json import document

        return document(comparison)
    if form == "markdown":
        from diagnoser.reports import comparedmarkdown

        return comparedmarkdown.render(comparison, say)
    from diagnoser.reports.text import compared

    options = _terminal.render_options(
        args.color,  # type: ignore[attr-defined]
        args.width,  # type: ignore[attr-defined]
        args.output is not None,  # type: ignore[attr-defined]
        args.verbose,  # type: ignore[attr-defined]
        say=say,
    )
    return compared.render(comparison, options)


def _parser() -> Parser:
    parser = Parser(
        "diagnose compare", DESCRIPTION, "DIAGNOSE_COMPARE", usage="diagnose compare [OPTION ...] BEFORE AFTER"
    )
    parser.add_argument("inputs", metavar="INPUT", nargs="*", help="the side before, and the side after")
    parser.add_argument("--with", dest="with_", metavar="INPUT", nargs="+", help="the side after, of several inputs")
    parser.add_argument("--format", metavar="NAME", type=one_of(_FORMATS), default="text", help=", ".join(_FORMATS))
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, in one piece")
    add_redact(parser, "markdown")
    parser.add_argument(
        "--fail-on",
        metavar="WHEN",
        type=one_of(_FAILS),
        default="never",
        help="exit 1 when it is: worse (or mixed), unclear (also when it cannot be told); default: never",
    )
    parser.add_argument("--engine", metavar="NAME", help="vllm, sglang, ...: when the inputs do not show it")
    parser.add_argument("--engine-version", metavar="VERSION", help="such as 0.9.2, when the inputs do not show it")
    parser.add_argument("--gpu", metavar="NAME", help="such as H100, when the inputs do not show it")
    parser.add_argument(
        "--color", metavar="WHEN", type=one_of(("auto", "always", "never")), default="auto", help="auto, always, never"
    )
    parser.add_argument("--width", metavar="N", type=width, help="columns of the text (default: the terminal's)")
    parser.add_argument("--cache-dir", metavar="DIR", help="where compiled rules are kept; 'none': nowhere")
    add_language(parser, add_common(parser))
    return parser
