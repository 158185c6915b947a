"""The rule base and the vocabulary for commands that read no log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diagnoser.commands import _cache, _terminal
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.rules.cache import Cache
from diagnoser.rules.loader import load as load_rules
from diagnoser.rules.loader import load_vocabulary
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import installed_packs


def load(folders: Sequence[str]) -> tuple[RuleBase, Vocabulary]:
    """Load the shipped rules, the given folders and the installed packs, without their examples.

    Raises RuleBaseError with every fault.
    """
    shipped = rules_dir()
    kept = _cache.folder(None)
    cache = Cache(kept) if kept is not None else None
    vocabulary = load_vocabulary(shipped, cache)
    base = load_rules([shipped, *map(Path, folders)], vocabulary, cache, packs=installed_packs())
    for problem in base.problems:
        _terminal.say(f"warning: {problem}")
    return base, vocabulary
