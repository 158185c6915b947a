"""`diagnose rules test`: loads rules, all faults at once, and runs the examples that they carry."""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.commands import _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.knowledge.words import hint
from diagnoser.reports.safe import line
from diagnoser.reports.units import plural
from diagnoser.rules.grounded import ungrounded
from diagnoser.rules.model import STAGES, EventSpec, Example, RuleBase, Template
from diagnoser.rules.testing import Coverage, ExampleResult, coverage, run_examples
from diagnoser.values import replace

if TYPE_CHECKING:
    from diagnoser.api import Knowledge, Options, Session


def run(args: argparse.Namespace) -> int:
    """Run the examples; 0 when all hold, else 1, as when --coverage finds missing examples or ungrounded templates."""
    from diagnoser.api import Knowledge, Options
    from diagnoser.commands._diagnose import lasting
    from diagnoser.knowledge.paths import rules_dir

    _terminal.check_output(args.junit, [], "--junit")
    paths = [Path(name) for name in args.what if Path(name).exists()]
    folders = {root.resolve(): root for path in paths if (root := _root(path)).resolve() != rules_dir().resolve()}
    options = Options(rules=tuple(dict.fromkeys([*args.rules, *map(str, folders.values())])))
    with lasting():
        knowledge = Knowledge(options)
    chosen = _chosen(args.what, knowledge.base)

    late = knowledge.matcher.overdue.sentences
    results = run_examples(knowledge.base, lambda example: played(example, options, knowledge), chosen, late)
    gaps = coverage(knowledge.base) if args.coverage else None
    loose = list(ungrounded(knowledge.base, knowledge.catalog)) if args.coverage else []
    _terminal.write("".join(_loose(*one) for one in loose) + _told(results, gaps, args.verbose), args.output)
    if args.junit:
        from diagnoser.commands import _junit

        _terminal.write(_junit.render(results), args.junit, for_people=False)
    return int(not all(result.ok for result in results) or bool(gaps and gaps.unproven) or bool(loose))


def played(example: Example, options: Options, knowledge: Knowledge) -> Session:
    """Diagnose what an example holds: its log, and its files beside it."""
    from diagnoser.api import Session

    log = io.BytesIO("".join(f"{text}\n" for text in example.lines).encode()) if example.lines else None
    with tempfile.TemporaryDirectory() as folder:
        names = ["-"] if log else []
        for name, lines in example.files:
            names.append(f"{folder}/{name}")
            Path(names[-1]).write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
        asked = replace(options, slo=dict(example.slo) or None)
        return Session(names, stdin=log, options=asked, knowledge=knowledge)


def _root(path: Path) -> Path:
    """Return the folder of rules that a file or folder belongs to: the one that holds the stages."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    root = folder.parent if folder.name in (*STAGES, "events") else folder
    return Path(path) if root == path.resolve() else root


def _chosen(words: Iterable[str], base: RuleBase) -> list[str] | None:
    """Return the ids asked for by id, file or folder; None for all."""
    asked = list(words)
    if not asked:
        return None
    chosen: dict[str, None] = {}
    for word in asked:
        if word in base.rules:
            chosen[word] = None
            continue
        path = Path(word)
        if not path.exists():
            told = hint(word, base.rules) or "; see diagnose rules list"
            raise CommandError(f"rules test: no rule and no file '{word}'{told}")
        place = path.resolve()
        inside = [rule.id for rule in base.rules.values() if Path(rule.place.file).resolve().is_relative_to(place)]
        if not inside:
            raise CommandError(f"rules test: no rule in {word}")
        chosen |= dict.fromkeys(inside)
    return list(chosen)


def _told(results: Sequence[ExampleResult], gaps: Coverage | None, verbose: bool) -> str:
    out = []
    for result in results:
        if verbose or not result.ok:
            place = result.example.place
            said = "ok" if result.ok else f"FAIL: {line(result.problem)}"
            out.append(f"{_short(place.file)}:{place.line}: {result.rule} {label(result)}: {said}")
    if gaps is not None:
        for title, names in (
            ("rules without a firing or a silent example", gaps.unproven),
            ("events that no example matches", gaps.unmatched),
            ("events that nothing uses", gaps.unused_events),
            ("symptoms that nothing uses", gaps.unused_symptoms),
        ):
            out.append(f"{title}: {len(names)}" + "".join(f"\n  {name}" for name in names))
    failed = sum(not result.ok for result in results)
    rules = len({result.rule for result in results})
    out.append(f"{plural(rules, 'rule')}, {plural(len(results), 'example')}, {failed or 'none'} failed")
    return "\n".join(out) + "\n"


def _loose(spec: EventSpec, template: Template) -> str:
    place = template.place
    said = f"no version of {template.engine} is known to print '{line(template.text)}'; correct it, or name its source"
    return f"{_short(place.file)}:{place.line}: event {spec.name}: {said}\n"


def label(result: ExampleResult) -> str:
    """Return the example's name and whether it must fire; the loader calls unnamed ones "fires 1"."""
    name = line(result.example.name)
    return name if name.startswith(result.kind) else f"{result.kind} ({name})"


def _short(file: str) -> str:
    """Return a path as one would type it here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
