"""The rule base and the vocabulary for commands that read no log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diagnoser.commands import _cache, _terminal
from diagnoser.judging.loading import in_language
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ENGLISH, ORIGINAL, Say
from diagnoser.rules.cache import Cache
from diagnoser.rules.loader import load as load_rules
from diagnoser.rules.loader import load_vocabulary
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import installed_packs


def load(folders: Sequence[str]) -> tuple[RuleBase, Vocabulary]:
    """Load the shipped rules, the given folders and the installed packs, without their examples.

    Raises RuleBaseError with every fault.
    """
    base, vocabulary, _ = load_in(ORIGINAL, folders)
    return base, vocabulary


def load_in(language: str, folders: Sequence[str]) -> tuple[RuleBase, Vocabulary, Say]:
    """Load the same in a language. Raises UsageError for an unknown one."""
    shipped = rules_dir()
    kept = _cache.folder(None)
    cache = Cache(kept) if kept is not None else None
    vocabulary = load_vocabulary(shipped, cache)
    every, packs = [shipped, *map(Path, folders)], installed_packs()
    base = load_rules(every, vocabulary, cache, packs=packs)
    for problem in base.problems:
        _terminal.say(f"warning: {problem}")
    if language == ORIGINAL:
        return base, vocabulary, ENGLISH
    from diagnoser.rules.translating import titled, translated

    say = in_language(language, [*every, *(pack.folder for pack in packs if pack.folder)], cache)
    return translated(base, say), titled(vocabulary, say), say
