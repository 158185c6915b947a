"""`diagnose catalog`: the facts about engine versions that remedies stand on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.commands import _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._parser import Parser, add_common, one_of
from diagnoser.reports import layout
from diagnoser.reports.safe import line

if TYPE_CHECKING:
    from diagnoser.knowledge.catalog import Catalog

HELP = "flags and messages by engine version: flag, diff, check, build"
DESCRIPTION = """\
  diagnose catalog flag NAME             what a flag is called, since when, and its default
  diagnose catalog diff ENGINE OLD NEW   what changed between two versions
  diagnose catalog check                 which rules the newest versions break; exit 1 when a stable one does
  diagnose catalog check FACTS_DIR       say what differs from such facts; exit 1 when something does
  diagnose catalog build FACTS_DIR       make the catalogue from facts read from engine releases
  diagnose catalog versions              the versions that were read and seen, as docs/versions.md has them"""
_ACTIONS = ("build", "check", "diff", "flag", "versions")
_WIDTH, _COLUMN = 100, 16


def main(arguments: Sequence[str]) -> int:
    """Dispatch to an action."""
    args = _parser().read(arguments)
    if args.rest and args.action != "diff":
        raise CommandError(f"catalog {args.action}: one argument is enough, not '{args.rest[0]}' too")
    if args.action == "flag":
        return _flag(args)
    if args.action in ("diff", "versions") or (args.action == "check" and not args.what):
        from diagnoser.commands import _standing

        told = {"diff": _standing.diff, "versions": _standing.versions, "check": _standing.check}
        return told[args.action](args)
    if not args.what:
        raise CommandError(f"catalog {args.action}: give the folder of facts")
    facts = Path(args.what)
    if not facts.is_dir():
        raise CommandError(f"catalog {args.action}: no folder {facts}")
    from diagnoser.knowledge import catalog_build
    from diagnoser.knowledge.paths import rules_dir

    folder = Path(args.output) if args.output else rules_dir() / "catalog"
    if args.action == "check":
        problems = catalog_build.check(facts, folder)
        for problem in problems:
            _terminal.say(problem)
        return int(bool(problems))
    written = catalog_build.build(facts, folder)
    if not args.quiet:
        _terminal.say(f"{len(written)} files in {folder}")
    return 0


def _parser() -> Parser:
    parser = Parser("diagnose catalog", DESCRIPTION, "DIAGNOSE_CATALOG", usage="diagnose catalog ACTION ...")
    parser.add_argument("action", metavar="ACTION", type=one_of(_ACTIONS), help=", ".join(_ACTIONS))
    parser.add_argument(
        "what", metavar="WHAT", nargs="?", help="folder of facts (build, check), a flag (flag), an engine (diff)"
    )
    parser.add_argument("rest", metavar="VERSION", nargs="*", help="two versions (diff)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the catalogue (default: the one in use)")
    parser.add_argument("--engine", metavar="NAME", help="only this engine")
    parser.add_argument("--engine-version", metavar="VERSION", help="the version at hand")
    add_common(parser, rules=False)
    return parser


def _flag(args: argparse.Namespace) -> int:
    from diagnoser.knowledge.catalog import Catalog
    from diagnoser.knowledge.paths import rules_dir
    from diagnoser.knowledge.vocabulary import ENGINES
    from diagnoser.knowledge.words import hint

    if not args.what:
        raise CommandError("catalog flag: give a flag, such as max-num-seqs")
    if args.engine and args.engine not in ENGINES:
        raise CommandError(f"--engine: unknown engine '{args.engine}'{hint(args.engine, ENGINES)}")
    # A shell word that begins with -- would be taken for an option, so the bare name is welcome.
    name = "--" + args.what.lstrip("-").replace("_", "-")
    catalog = Catalog(rules_dir())
    engines = [args.engine] if args.engine else list(ENGINES)
    if args.engine_version and not args.engine and len(catalog.owners(name)) > 1:
        raise CommandError("--engine-version needs --engine: several engines have this flag")
    told = [_told(catalog, engine, name, args.engine_version) for engine in engines]
    text = "".join(told)
    if not text:
        near = [found for engine in engines if (found := catalog.nearest_flag(engine, name, args.engine_version))]
        meant = f"; did you mean {near[0]}?" if near else ""
        raise CommandError(f"catalog flag: no version of {' or '.join(engines)} has {name}{meant}")
    _terminal.write(text)
    return 0


def _told(catalog: Catalog, engine: str, name: str, version: str | None) -> str:
    """Return what one engine's catalogue says of a flag; empty when it never had it."""
    from diagnoser.knowledge.versions import range_text

    flag = catalog.flag(engine, name)
    versions = catalog.version_list(engine)
    if flag is None or versions is None:
        return ""
    rows = [("versions", range_text(versions, flag.first, flag.last) or "all that were read")]
    others = [spelled.name for spelled in flag.spellings if spelled.name != flag.name]
    rows += [("also", ", ".join(others))] if others else []
    rows += [("type", flag.type)] if flag.type else []
    rows += [("choices", ", ".join(map(str, flag.choices)))] if flag.choices else []
    rows += [("default", default) for default in _defaults(catalog, engine, flag.name, version)]
    rows += [("replaced by", flag.replaced_by)] if flag.replaced_by else []
    rows += [("meaning", flag.meaning)] if flag.meaning else []
    story = catalog.flag_story(engine, name, version)
    rows += [(f"in {version}" if version else "note", story)] if story else []
    out = [f"{engine} {flag.name}"]
    for label, text in rows:
        for i, piece in enumerate(layout.wrap(line(text), _WIDTH - _COLUMN)):
            out.append(f"  {label if i == 0 else '':<{_COLUMN - 2}}{piece}")
    return "\n".join(out) + "\n"


def _defaults(catalog: Catalog, engine: str, name: str, version: str | None) -> list[str]:
    from diagnoser.knowledge.catalog import UNRESOLVED

    found = []
    value = catalog.default(engine, name, version)
    if value is not UNRESOLVED and value is not None:
        found.append(str(value))
    rule = catalog.default_rule(engine, name, version)
    return found + ([rule] if rule else []) or ["depends on the version: give --engine-version"] * (version is None)
