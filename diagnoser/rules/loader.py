"""Loads a rule base: reads every file, collects all names, then checks everything and reports all faults at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.vocabulary import FILES, Vocabulary
from diagnoser.rules.cache import RULES, VOCABULARY, Cache, Shipped, rule_inputs
from diagnoser.rules.errors import RuleBaseError, RuleError
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import Pack, RuleSource, sources
from diagnoser.rules.plain import base_from_plain, base_to_plain, vocabulary_from_plain

__all__ = ["RuleBaseError", "RuleError", "load", "load_vocabulary"]


def load(
    folders: Sequence[Path],
    vocabulary: Vocabulary,
    cache: Cache | None = None,
    *,
    catalog: Catalog | None = None,
    packs: Sequence[Pack] = (),
) -> RuleBase:
    """Return the rule base of ``folders`` (the shipped one first) and of installed ``packs``.

    A fault in a folder raises RuleBaseError with every fault of all folders; a broken pack is left out and named in
    ``problems``. ``catalog`` defaults to the one in the first folder. With a ``cache`` the result may come from it;
    rules then carry no examples, which only tests of rules read.
    """
    catalog = catalog or Catalog(folders[0])
    if cache is None:
        return _build(folders, vocabulary, catalog, packs)
    if len(folders) == 1 and not packs and catalog.rules == folders[0]:
        found = Shipped(folders[0]).read(RULES, lambda: rule_inputs(folders, catalog.rules, packs), base_from_plain)
        if found is not None:
            return found
    named = (f"{pack.name} {pack.folder} {pack.problem}" for pack in packs)
    key = cache.key(rule_inputs(folders, catalog.rules, packs), *named)
    found = cache.read(RULES, key, base_from_plain)
    if found is None:
        plain = base_to_plain(_build(folders, vocabulary, catalog, packs))
        cache.write(RULES, key, plain)
        found = base_from_plain(plain)  # as every later run will see it
    return found


def load_vocabulary(rules: Path, cache: Cache | None = None) -> Vocabulary:
    """Return the vocabulary of the folder ``rules``, from the ``cache`` if it has it. Raises VocabularyError."""
    if cache is None:
        return Vocabulary.load(rules)
    found = Shipped(rules).read(VOCABULARY, lambda: [rules / name for name in FILES], vocabulary_from_plain)
    if found is not None:
        return found
    key = cache.key([rules / name for name in FILES])
    found = cache.read(VOCABULARY, key, vocabulary_from_plain)
    if found is None:
        found = Vocabulary.load(rules)
        cache.write(VOCABULARY, key, found)
    return found


def shipped(rules: Path) -> dict[str, bytes]:
    """Return what a wheel with these rules brings compiled: contents by file name. Raises RuleBaseError."""
    ready, vocabulary, catalog = Shipped(rules), Vocabulary.load(rules), Catalog(rules)
    base = base_to_plain(_build([rules], vocabulary, catalog, ()))
    return {
        f"{RULES}.json": ready.content(rule_inputs([rules], rules, ()), base),
        f"{VOCABULARY}.json": ready.content([rules / name for name in FILES], vocabulary),
    }


def _build(folders: Sequence[Path], vocabulary: Vocabulary, catalog: Catalog, packs: Sequence[Pack]) -> RuleBase:
    # YAML, pydantic and lark are needed only here: a run from the cache imports none of them.
    from diagnoser.rules.compiling.assemble import assemble

    files: list[RuleSource] = []
    errors: list[RuleError] = []
    for folder in folders:
        found, wrong = sources(folder)
        files += found
        errors += wrong
    base, wrong = assemble(files, vocabulary, catalog)
    errors += wrong
    if errors:
        raise RuleBaseError(errors)
    problems: list[str] = []
    for pack in packs:
        extra, wrong = sources(pack.folder, pack.name) if pack.folder else ([], [])
        if not pack.problem and not wrong:
            widened, wrong = assemble([*files, *extra], vocabulary, catalog)
            if not wrong:
                base, files = widened, [*files, *extra]
                continue
        problems.append(_problem(pack, wrong))
    base.problems = problems
    _complete(base, folders[0], vocabulary)
    return base


def _complete(base: RuleBase, shipped: Path, vocabulary: Vocabulary) -> None:
    """Compile what speaks the rules' language outside of rule files: derived facts, checklist, notes."""
    from diagnoser.rules import checklist

    compiled = checklist.compiler(vocabulary, base)
    errors = []
    for name, fact in vocabulary.facts.items():
        if fact.derive:
            try:
                base.derived[name] = compiled(fact.derive, "")
            except ValueError as error:
                errors.append(RuleError(str(shipped / "facts.yaml"), 1, 1, f"{name}: derive: {error}"))
    for points, file in ((base.checklist, "checklist.yaml"), (base.notes, "notes.yaml")):
        if (shipped / file).is_file():
            try:
                points += checklist.load(shipped / file, compiled)
            except checklist.ChecklistError as error:
                errors += [RuleError(one.file, one.line, one.column, one.text) for one in error.problems]
    if errors:
        raise RuleBaseError(errors)


def _problem(pack: Pack, errors: Sequence[RuleError]) -> str:
    """Say in one sentence why a pack is left out."""
    if not errors:
        return f"rule pack {pack.name} is left out: {pack.problem}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"rule pack {pack.name} is left out: {min(errors)}{more}"
