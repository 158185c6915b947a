"""`diagnose catalog diff`, `check` and `versions`: what a version changed, what that breaks, what was verified."""

from __future__ import annotations

import argparse
from pathlib import Path

from diagnoser.commands import _knowledge, _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.catalog_diff import KINDS, Change, DiffError
from diagnoser.knowledge.catalog_diff import diff as differences
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.words import hint
from diagnoser.reports.safe import line
from diagnoser.rules.standing import Break, Upkeep

_SIGNS = {"added": "+", "removed": "-"}


def diff(args: argparse.Namespace) -> int:
    """Print what changed between two versions of an engine, kind by kind."""
    catalog = Catalog(rules_dir())
    if not args.what or len(args.rest) != 2:
        raise CommandError("catalog diff: give an engine and two versions, such as vllm 0.11.0 0.12.0")
    _known(catalog, args.what, "catalog diff")
    try:
        changes = differences(catalog, args.what, *args.rest)
    except DiffError as error:
        raise CommandError(f"catalog diff: {error}") from None
    out = [f"{args.what} {args.rest[0]} -> {args.rest[1]}"]
    for kind in KINDS:
        mine = [one for one in changes if one.kind == kind]
        if mine:
            out += [f"{kind} ({len(mine)})", *(f"  {_change(one)}" for one in mine)]
    _terminal.write("\n".join(out if changes else [*out, "nothing that was read differs"]) + "\n")
    return 0


def _change(one: Change) -> str:
    detail = f"  {line(one.detail)}" if one.detail else ""
    if one.word == "renamed":
        detail = f" -> {line(one.detail)}"
    return f"{_SIGNS.get(one.word, '~')} {line(one.name)}{detail}{'' if one.word in _SIGNS else f'  ({one.word})'}"


def check(args: argparse.Namespace) -> int:
    """Print what of the rule base a version breaks; return 1 when a stable rule has nothing in its place."""
    catalog = Catalog(rules_dir())
    engines = [args.engine] if args.engine else catalog.engines()
    if args.engine:
        _known(catalog, args.engine, "--engine")
    if args.engine_version and not args.engine:
        raise CommandError("--engine-version needs --engine")
    base, vocabulary = _knowledge.load([])
    bad = False
    for engine in engines:
        version = args.engine_version or catalog.newest(engine) or ""
        try:
            standing = Upkeep(base, vocabulary, catalog, engine, version)
        except ValueError as error:
            raise CommandError(f"catalog check: {error}") from None
        found = standing.breaks()
        bad |= any(one.breaks and one.stable for one in found)
        _terminal.write(_told(engine, version, found, standing.unread_fields(), args.quiet))
    return int(bad)


def _told(engine: str, version: str, found: list[Break], unread: list[str], quiet: bool) -> str:
    broken = sorted({one.rule for one in found if one.breaks})
    weaker = {one.rule for one in found} - set(broken)
    out = [f"{engine} {version}: {len(broken)} rules broken, {len(weaker)} with something gone that has an alternative"]
    for one in found:
        if one.breaks or not quiet:
            near = f"; nearest: {line(one.nearest)}" if one.nearest else ""
            grade = ("BROKEN" if one.stable else "broken, experimental") if one.breaks else "has another"
            out.append(f"  {one.rule}: {one.kind} {line(one.name)}: {line(one.reason)}{near} ({grade})")
    if unread and not quiet:
        out.append(f"  fields of statistics lines that feed no series: {', '.join(map(line, unread))}")
    return "\n".join(out) + "\n"


def versions(args: argparse.Namespace) -> int:
    """Print the page of verified versions."""
    from diagnoser.commands._versionpage import page

    catalog = Catalog(rules_dir())
    base, vocabulary = _knowledge.load([])
    text = page(catalog, base, vocabulary)
    if args.output:
        _terminal.write_file(Path(args.output), text)
    else:
        _terminal.write(text)
    return 0


def _known(catalog: Catalog, engine: str, where: str) -> None:
    names = catalog.engines()
    if engine not in names:
        raise CommandError(f"{where}: no version of '{engine}' was read{hint(engine, names)}")
