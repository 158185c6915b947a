"""Everything that is known before an input is read: vocabulary, catalogue, rules, and the matcher made of them."""

from __future__ import annotations

from pathlib import Path

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.options import Options, UsageError
from diagnoser.rules.cache import Cache
from diagnoser.rules.loader import load, load_vocabulary
from diagnoser.rules.matcher import Matcher
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import installed_packs


class Knowledge:
    """The rule base with everything it names: vocabulary, catalogue, compiled rules and their matcher."""

    def __init__(self, options: Options) -> None:
        shipped = rules_dir()
        folders = [shipped, *(Path(folder) for folder in options.rules)]
        for folder in folders[1:]:
            if not folder.is_dir():
                raise UsageError(f"--rules {folder}: no such folder")
        cache = Cache(options.cache_dir) if options.cache_dir is not None else None
        self.vocabulary = load_vocabulary(shipped, cache)
        self.catalog = Catalog(shipped)
        self.base: RuleBase = load(folders, self.vocabulary, cache, catalog=self.catalog, packs=installed_packs())
        self.matcher = Matcher(self.base.events.values())
