"""Everything that is known before an input is read: vocabulary, catalogue, rules, and the matcher made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.paths import rules_dir
from diagnoser.language import ENGLISH, ORIGINAL, Say
from diagnoser.options import Options, UsageError
from diagnoser.rules.cache import Cache
from diagnoser.rules.loader import load, load_vocabulary
from diagnoser.rules.matching.matcher import Matcher
from diagnoser.rules.model import RuleBase
from diagnoser.rules.packs import installed_packs

if TYPE_CHECKING:
    from diagnoser.knowledge.gpus import GpuTable


def in_language(language: str, folders: Sequence[Path], cache: Cache | None) -> Say:
    """Return a language that some folder of rules has. Raises UsageError, RuleBaseError."""
    from diagnoser.rules.translating import languages, load

    known = languages(folders)
    if language not in known:
        from diagnoser.knowledge.words import nearest

        # Of "zh-CN" and "zh_CN.UTF-8" the language is meant.
        stem = language.lower().replace("_", "-").split("-")[0]
        near = nearest(stem, [code for code in known if code[:1] == stem[:1]], 0.5)
        meant = f"; did you mean {near}?" if near else ""
        raise UsageError(f"--lang {language}: unknown language; there are {', '.join(known)}{meant}")
    return load(language, folders, cache)


class Knowledge:
    """The rule base with everything it names: vocabulary, catalogue, compiled rules and their matcher.

    ``base`` speaks the language ``say``; ``titles`` is the vocabulary with titles in it.
    """

    def __init__(self, options: Options) -> None:
        shipped = rules_dir()
        folders = [shipped, *(Path(folder) for folder in options.rules)]
        for folder in folders[1:]:
            if not folder.is_dir():
                raise UsageError(f"--rules {folder}: no such folder")
        cache = Cache(options.cache_dir) if options.cache_dir is not None else None
        self.vocabulary = load_vocabulary(shipped, cache)
        self.catalog = Catalog(shipped)
        packs = installed_packs()
        self.say = ENGLISH
        if options.lang != ORIGINAL:  # a misspelt language must not be found out after rules were compiled
            self.say = in_language(options.lang, [*folders, *(pack.folder for pack in packs if pack.folder)], cache)
        self.base: RuleBase = load(folders, self.vocabulary, cache, catalog=self.catalog, packs=packs)
        self.titles = self.vocabulary
        if options.lang != ORIGINAL:
            from diagnoser.rules.translating import titled, translated

            self.base, self.titles = translated(self.base, self.say), titled(self.vocabulary, self.say)
        self.matcher = Matcher(self.base.events.values())

    @cached_property
    def gpus(self) -> GpuTable:
        """The figures of GPUs. Read when the first run names its GPU, which few logs do."""
        from diagnoser.knowledge.gpus import GpuTable

        return GpuTable.load(rules_dir())
