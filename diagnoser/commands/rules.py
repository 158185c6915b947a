"""`diagnose rules`: list rules, run their own examples, print their schema, begin a new one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from diagnoser.commands import _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._parser import Parser, add_common, one_of

HELP = "list, test, score or write rules; export them as alerts for Prometheus"
DESCRIPTION = """\
  diagnose rules list                  every rule with severity, status and title
  diagnose rules test [PATH ...]       load the rules and run the examples that they carry
  diagnose rules score PATH ...        precision and recall of every rule on labelled cases
  diagnose rules schema                the JSON Schema of rule files, for editors
  diagnose rules new STAGE.CAUSE       write a commented skeleton of a rule
  diagnose rules export                alerting rules for Prometheus: what metrics can show (docs/alerting.md)
  diagnose rules translate CODE        renew the files of a language: what is new waits, what is stale goes"""
_ACTIONS = ("list", "test", "score", "schema", "new", "export", "translate")
_FORMATS = ("text", "json", "prometheus", "promtool-tests")


def main(arguments: Sequence[str]) -> int:
    """Dispatch to the action."""
    parser = _parser()
    args = parser.read(arguments)
    if args.action is None:
        parser.error(f"rules: say what to do: {', '.join(_ACTIONS)}")
    if args.action == "score":
        from diagnoser.commands import _score

        return _score.run(args)
    if args.action == "export":
        from diagnoser.commands import _rulesexport

        return _rulesexport.run(args)
    if args.format not in _FORMATS[:2]:
        parser.error(f"--format {args.format}: is for 'diagnose rules export'")
    if args.action == "list":
        return _list(args)
    if args.action == "schema":
        from diagnoser.rules.compiling.schema import json_schema

        _terminal.write(json.dumps(json_schema(), indent=2) + "\n", args.output, for_people=False)
        return 0
    if args.action == "new":
        from diagnoser.commands import _newrule

        if len(args.what) != 1:
            raise CommandError("rules new: give one id, such as memory.my_cause")
        path = _newrule.write(args.what[0], args.dir)
        _terminal.say(f"wrote {path}; fill it in, then: diagnose rules test {path}")
        return 0
    if args.action == "translate":
        return _translate(args)
    from diagnoser.commands import _ruletests

    return _ruletests.run(args)


def _parser() -> Parser:
    parser = Parser("diagnose rules", DESCRIPTION, "DIAGNOSE_RULES", usage="diagnose rules ACTION [OPTION ...]")
    parser.add_argument("action", metavar="ACTION", nargs="?", type=one_of(_ACTIONS), help=", ".join(_ACTIONS))
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="*",
        help="test: files, folders or ids; score: cases; new: the id; translate: the language",
    )
    parser.add_argument(
        "--format",
        metavar="NAME",
        type=one_of(_FORMATS),
        default="text",
        help="list: text (default), json; export: prometheus (default), promtool-tests",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="list, schema, score, export: write there")
    parser.add_argument("--coverage", action="store_true", help="test: say which conditions no example decides")
    parser.add_argument("--junit", metavar="FILE", help="test: write results as JUnit XML too")
    parser.add_argument("--dir", metavar="DIR", help="new, translate: folder of rules (default: rules)")
    parser.add_argument("--check", action="store_true", help="translate: write nothing, exit 1 when something is due")
    from diagnoser.commands import _exportoptions

    _exportoptions.add(parser)
    add_common(parser)
    return parser


def _translate(args: argparse.Namespace) -> int:
    from pathlib import Path

    from diagnoser.commands import _languagefiles
    from diagnoser.knowledge.paths import rules_dir
    from diagnoser.language import ORIGINAL

    if len(args.what) != 1 or not args.what[0].replace("-", "").isalpha() or args.what[0] == ORIGINAL:
        raise CommandError("rules translate: give the code of one language, such as zh")
    folder = Path(args.dir) if args.dir else rules_dir()
    if not folder.is_dir():
        raise CommandError(f"rules translate: --dir {folder}: no such folder")
    wanted = _languagefiles.wanted(folder)
    missing, stale, changed = _languagefiles.renew(args.what[0], folder, wanted, args.check)
    for word, texts in (("not translated", missing), ("stale", stale)):
        for text in texts if args.verbose or args.check else ():
            _terminal.say(f"{word}: {text}")
    if not args.quiet:
        done = sum(map(len, wanted.values())) - len(missing)
        _terminal.say(f"{done} texts translated, {len(missing)} not, {len(stale)} stale; {changed} files written")
    return int(args.check and bool(missing or stale))


def _list(args: argparse.Namespace) -> int:
    from diagnoser.commands import _knowledge
    from diagnoser.reports import layout

    base, _ = _knowledge.load(args.rules)
    rows = [
        {
            "id": rule.id,
            "severity": "/".join(dict.fromkeys(level for level, _ in rule.severity)),
            "status": rule.status,
            "title": rule.title,
        }
        for rule in base.rules.values()
    ]
    if args.format == "json":
        _terminal.write(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", args.output, for_people=False)
        return 0
    keys = ("id", "severity", "status")
    widths = {key: max((len(row[key]) for row in rows), default=0) for key in keys}
    width = _terminal.render_options("never", None, args.output is not None).width
    lines = ["  ".join([*(f"{row[key]:<{widths[key]}}" for key in keys), row["title"]]) for row in rows]
    _terminal.write("".join(layout.cut(line, max(width, 80)) + "\n" for line in lines), args.output)
    return 0
