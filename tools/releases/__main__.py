"""`python -m tools.releases`: what releases there are, what one has, and the facts that renew the catalogue."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from packaging.version import InvalidVersion, Version

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from tools.releases import registry
from tools.releases.compare import agreement
from tools.releases.release import ENGINES, Release, read
from tools.releases.renew import write_facts

_USAGE = """\
  python -m tools.releases list [ENGINE]                   releases that the catalogue does not know
  python -m tools.releases check ENGINE VERSION...         read releases, compare them with the catalogue
  python -m tools.releases renew ENGINE VERSION... -o DIR  write DIR, the facts for `diagnose catalog build DIR`
  python -m tools.releases renew -o DIR                    the same for every release newer than the catalogue"""


def main() -> int:
    """Run one action; return the exit code: 0, 1 for a release that agrees badly, 2 for what cannot be done."""
    parser = argparse.ArgumentParser("tools.releases", usage="\n" + _USAGE, description=__doc__)
    parser.add_argument("action", choices=("list", "check", "renew"))
    parser.add_argument("engine", nargs="?", choices=sorted(ENGINES))
    parser.add_argument("version", nargs="*")
    parser.add_argument("-o", "--output", type=Path, help="folder for the facts (renew)")
    parser.add_argument("--archive", type=Path, help="an archive that is there already (one version)")
    parser.add_argument("--keep", type=Path, help="folder that keeps downloaded archives")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="names to show of each difference")
    args = parser.parse_args()
    try:
        return {"list": _list, "check": _check, "renew": _renew}[args.action](args)
    except (registry.RegistryError, InvalidVersion, OSError, ValueError) as error:
        print(f"tools.releases: {error}", file=sys.stderr)
        return 2


def _newer(engine: str) -> list[str]:
    """Return final releases on the registry that are newer than the newest in the catalogue."""
    newest = Catalog(rules_dir()).newest(engine)
    versions = sorted({one.version for one in registry.archives(ENGINES[engine].project)})
    return [str(one) for one in versions if not one.is_prerelease and (newest is None or one > Version(newest))]


def _list(args: argparse.Namespace) -> int:
    for engine in [args.engine] if args.engine else sorted(ENGINES):
        newest, newer = Catalog(rules_dir()).newest(engine), _newer(engine)
        print(f"{engine}: the catalogue ends at {newest}; newer: {', '.join(newer) or 'none'}")
    return 0


def _read(args: argparse.Namespace, engine: str, version: str) -> Release:
    if args.archive:
        return read(engine, version, args.archive)
    with tempfile.TemporaryDirectory() as scratch:
        one = registry.choose(registry.archives(ENGINES[engine].project), version)
        print(f"{engine} {version}: {one.name}, {one.size / 1e6:.1f} MB", file=sys.stderr)
        return read(engine, version, registry.fetch(one, args.keep or Path(scratch)))


def _check(args: argparse.Namespace) -> int:
    if not args.engine or not args.version:
        raise ValueError("check: give an engine and a version")
    bad = False
    for version in args.version:
        release = _read(args, args.engine, version)
        print(f"{args.engine} {version}: {release.modules} modules, {len(release.texts)} texts")
        for one in agreement(release, Catalog(rules_dir())):
            bad |= one.recall < 0.9
            print(f"  {one.kind:<10} {one.found:>5} of {one.known:<5} {one.recall:7.1%}   {len(one.extra)} more")
            for word, names in (("not read", one.missing), ("more", one.extra)):
                for name in names[: args.show]:
                    print(f"      {word}: {name[:140]}")
    return int(bad)


def _renew(args: argparse.Namespace) -> int:
    if not args.output:
        raise ValueError("renew: give --output, the folder for the facts")
    wanted = [(args.engine, one) for one in args.version]
    if not args.version:
        wanted = [
            (engine, one) for engine in ([args.engine] if args.engine else sorted(ENGINES)) for one in _newer(engine)
        ]
    if not wanted:
        print("the registry has nothing newer than the catalogue", file=sys.stderr)
    releases = [_read(args, *one) for one in wanted]
    args.archive = None
    newest = {engine: Catalog(rules_dir()).newest(engine) for engine, _ in wanted}
    before = {engine: _read(args, engine, version) for engine, version in newest.items() if version}
    for line in write_facts(rules_dir() / "catalog", releases, args.output, before):
        print(line)
    print(f"now: diagnose catalog build {args.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
