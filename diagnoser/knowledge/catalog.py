"""What each engine version has: flags, environment variables and their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from diagnoser.knowledge.catalog_tables import CatalogTables
from diagnoser.knowledge.flag_story import flag_story, nearest_flag, owners
from diagnoser.knowledge.records import Default, Env, Flag, Spelled
from diagnoser.knowledge.versions import Position, VersionList, range_text
from diagnoser.language import ENGLISH, Say


class Unresolved:
    """The type of UNRESOLVED."""

    def __repr__(self) -> str:
        return "UNRESOLVED"

    def __bool__(self) -> bool:
        return False


#: A default that is computed at start-up, differs between the versions in question, or is not known.
UNRESOLVED: Final = Unresolved()


class Spelling(NamedTuple):
    """A flag as it can be written for a version. ``certain``: the version is known and has it.

    ``since`` and ``until`` bound the versions that accept it (None: open, as far as read); ``versions`` says the same
    in words, "" for all.
    """

    flag: str
    since: str | None
    until: str | None
    certain: bool
    versions: str


class Catalog(CatalogTables):
    """Questions about engine versions. A version is text as a log prints it, or None when it is not known."""

    def flag(self, engine: str, name: str) -> Flag | None:
        """Return the flag that is spelled so in some version: name, alias, ``--no-`` form.

        Underscores, ``--flag=value`` and dotted sub-keys (``--compilation-config.mode``) are understood; so is an
        abbreviation that fits only one flag of the newest version (``--tp``), as argparse takes it.
        """
        key = self.key(engine, name)
        flags = self.flags(engine)
        if key in flags or not key.startswith("--"):
            return flags.get(key)
        now = {flag.name: flag for spelled, flag in flags.items() if spelled.startswith(key) and flag.last is None}
        return next(iter(now.values())) if len(now) == 1 else None

    def key(self, engine: str, name: str) -> str:
        """Return the spelling to look up: no value, hyphens, and without a sub-key unless it is a flag with one."""
        words = name.strip().split("=", 1)[0].split(None, 1)
        flags, word = self.flags(engine), words[0] if words else ""
        if word in flags or not word.startswith("--"):  # one flag of vLLM 0.5 does have an underscore
            return word
        word = word.replace("_", "-")
        return word if word in flags else word.split(".", 1)[0]

    def spelled(self, engine: str, name: str) -> tuple[Flag, Spelled] | None:
        """Return the flag of this exact spelling and the spelling's own versions."""
        key = self.key(engine, name)
        flag = self.flags(engine).get(key)
        return (flag, next(s for s in flag.spellings if s.name == key)) if flag else None

    def has_flag(self, engine: str, name: str, version: str | None) -> bool | None:
        """Tell whether a version accepts this spelling; abbreviations do not count, since they cannot be relied on.

        False when no version has it. None when the version is unknown (or no version) and not every one has it.
        """
        found = self.spelled(engine, name)
        versions = self.version_list(engine)
        if found is None or versions is None:
            return False if versions else None
        position = versions.position(version) if version else None
        if position is not None:
            return self._accepts(versions, *found, position)
        flag, spelled = found
        everywhere = versions.first_index(spelled.first) == 0 and spelled.last is None and not flag.absent_in
        return True if everywhere else None

    @staticmethod
    def _accepts(versions: VersionList, flag: Flag, spelled: Spelled, position: Position) -> bool:
        return versions.covers(position, spelled.first, spelled.last, flag.absent_in)

    def spelling(self, engine: str, names: Sequence[str], version: str | None) -> Spelling | None:
        """Return the first of ``names`` that the version accepts; None when it accepts none.

        When the version is unknown: the first that the newest version accepts, else the one that lived longest, not
        ``certain`` and with the range to print beside it.
        """
        versions = self.version_list(engine)
        found = [item for item in (self.spelled(engine, name) for name in names) if item]
        if versions is None or not found:
            return None
        position = versions.position(version) if version else None
        at = position or Position(len(versions.read) - 1, len(versions.read) - 1)
        fitting = [item for item in found if self._accepts(versions, *item, at)]
        if not fitting and position is None:
            fitting = [max(found, key=lambda item: versions.last_index(item[1].last))]
        if not fitting:
            return None
        spelled = fitting[0][1]
        since = None if versions.first_index(spelled.first) == 0 else spelled.first
        text = range_text(versions, spelled.first, spelled.last)
        return Spelling(spelled.name, since, spelled.last, position is not None, text)

    def dest(self, engine: str, name: str) -> str:
        """Return the argument's name in dumps: ``--max-num-seqs`` is ``max_num_seqs``; also for unknown flags."""
        flag = self.flag(engine, name)
        return flag.dest if flag else self.key(engine, name).lstrip("-").replace("-", "_")

    def flag_for_dest(self, engine: str, dest: str, version: str | None = None) -> Flag | None:
        """Return the flag that sets an argument of the dumps; with a version, one that it has goes first."""
        own = self.flags(engine).get("--" + dest.replace("_", "-"))
        found = [*([own] if own else ()), *self.flags_by_dest(engine).get(dest, ())]
        fitting = [flag for flag in found if version and self.has_flag(engine, flag.name, version)]
        return next(iter(fitting or found), None)

    def default(self, engine: str, name: str, version: str | None) -> Any:
        """Return the default of a flag (``--x``) or argument (``x``) at a version, as JSON would hold it.

        None means: nothing, unless set. UNRESOLVED when it is computed at start-up (`default_rule` says how) or seen to
        be replaced there, when the version is unknown and the default has changed, or when there is no such flag.
        """
        flag = self._named(engine, name, version)
        defaults = self._at(engine, flag.defaults, version) if flag else []
        if flag is None or not defaults or self.has_flag(engine, flag.name, version) is False:
            return UNRESOLVED
        if any(row is None or row.rule for row in defaults) or any(row != defaults[0] for row in defaults):
            return UNRESOLVED
        value = defaults[0].value if defaults[0] else None
        if value is not None or not flag.unset:
            # A list is no default that an engine replaces, and cannot be looked up.
            replaced = isinstance(value, str) and (flag.name, value) in self.replaced_at_start(engine)
            return UNRESOLVED if replaced else value
        rules = self._rules(engine, flag, version)
        # One unconditional value, and no rule after it that may change it.
        return rules[0].value if len(rules) == 1 and not rules[0].rule else UNRESOLVED

    def default_rule(self, engine: str, name: str, version: str | None) -> str:
        """Say how a default that the parser leaves open is computed at this version; "" when nothing is known."""
        flag = self._named(engine, name, version)
        rows = self._rules(engine, flag, version) if flag else []
        return "; ".join(row.rule or f"{row.value}" for row in rows)

    def _named(self, engine: str, name: str, version: str | None) -> Flag | None:
        return self.flag(engine, name) if name.startswith("-") else self.flag_for_dest(engine, name, version)

    def _at(self, engine: str, rows: Sequence[Default], version: str | None) -> list[Default | None]:
        """Return the row in force at each neighbour of a version, or at every change when it is unknown."""
        versions = self.version_list(engine)
        if versions is None:
            return []
        position = versions.position(version) if version else None
        if position is None:
            return list(rows)
        before = [[row for row in rows if versions.first_index(row.since) <= index] for index in position]
        return [part[-1] if part else None for part in before]

    def _rules(self, engine: str, flag: Flag, version: str | None) -> list[Default]:
        """Return what may decide an open default: the last complete rule in force and those after it."""
        versions = self.version_list(engine)
        position = versions.position(version) if versions and version else None
        rows = list(flag.unset)
        if versions and position:
            rows = [row for row in rows if versions.covers(position, row.since, row.until)]
            # A plain value or one with an "otherwise" leaves nothing open: what stands before it is history.
            starts = [index for index, row in enumerate(rows) if not row.rule or ", otherwise " in row.rule]
            rows = rows[starts[-1] :] if starts else rows
        return rows

    def env(self, engine: str, name: str) -> Env | None:
        """Return the environment variable of that name."""
        return self.envs(engine).get(name)

    def has_env(self, engine: str, name: str, version: str | None) -> bool | None:
        """Tell whether a version reads this variable; False and None as for `has_flag`."""
        found, versions = self.env(engine, name), self.version_list(engine)
        if found is None or versions is None:
            return False if versions else None
        position = versions.position(version) if version else None
        if position is None:
            always = versions.first_index(found.first) == 0 and found.last is None and not found.absent_in
            return True if always else None
        return versions.covers(position, found.first, found.last, found.absent_in)

    # -- flags that are wrong

    def owners(self, name: str) -> list[str]:
        """Return the engines that have a flag of this spelling in some version."""
        return owners(self, name)

    def nearest_flag(self, engine: str, name: str, version: str | None = None) -> str | None:
        """Return the flag of this engine that somebody who wrote ``name`` may have meant."""
        return nearest_flag(self, engine, name, version)

    def flag_story(self, engine: str, name: str, version: str | None, say: Say = ENGLISH) -> str:
        """Say in a few words what is the matter with a flag at a version; "" when nothing is."""
        return flag_story(self, engine, name, version, say)
