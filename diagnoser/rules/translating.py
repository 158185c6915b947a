"""Other languages: reads ``lang/<code>/**/*.yaml`` of rule folders, puts their texts for the English ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ORIGINAL, Say, key
from diagnoser.rules.cache import Cache
from diagnoser.rules.errors import RuleBaseError, RuleError
from diagnoser.rules.model import Node, Point, Remedy, Rule, RuleBase
from diagnoser.rules.texts import TextError, placeholders
from diagnoser.values import replace

#: The folder of languages in a folder of rules, and the kind of their entries in the cache.
FOLDER = KIND = "lang"

#: The texts of a rule and of a remedy, in the order they are read. Ids, keys and levels are no texts.
RULE = ("title", "meaning", "impact", "false_positives", "needs", "verify")
REMEDY = ("action", "text", "tradeoff")


def languages(folders: Iterable[Path]) -> list[str]:
    """Return the codes of every language that some folder of rules has, the original first."""
    found = {one.name for folder in folders for one in _folders(folder / FOLDER)}
    return [ORIGINAL, *sorted(found - {ORIGINAL})]


def load(language: str, folders: Sequence[Path], cache: Cache | None = None) -> Say:
    """Return a language of these folders; where two translate one text, the first does.

    Raises RuleBaseError for a file that is none, or whose holes are not those of the English text.
    """
    files = [path for folder in folders for path in _files(folder / FOLDER / language)]
    digest = cache.key(files, language) if cache is not None else ""
    table = cache.read(KIND, digest, dict) if cache is not None else None
    if table is None:
        table = _read(files, language)
        if cache is not None:
            cache.write(KIND, digest, table)
    return Say(language, table)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(
            Path(one.path) for one in os.scandir(folder) if one.is_dir() and not one.name.startswith((".", "_"))
        )
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.yaml")) if folder.is_dir() else []


def _read(files: Iterable[Path], language: str) -> dict[str, str]:
    errors: list[RuleError] = []
    table: dict[str, str] = {}
    for path in files:
        for english, said in pairs(path, language, errors):
            if said:
                table.setdefault(english, said)
    if errors:
        raise RuleBaseError(errors)
    return table


def pairs(path: Path, language: str, errors: list[RuleError]) -> Iterator[tuple[str, str]]:
    """Yield (English, translation) of one file; "" where it is still to be translated. Faults are appended."""
    from diagnoser.knowledge.yamlfile import YamlError
    from diagnoser.knowledge.yamlfile import load as load_yaml

    try:
        document = load_yaml(path)
    except YamlError as error:
        errors.append(RuleError(error.file, error.line, error.column, error.text))
        return
    entries = document.data if isinstance(document.data, list) else [None]
    for at, entry in enumerate(entries):
        fault = _fault(entry, language)
        if fault:
            errors.append(RuleError(str(path), *document.place((at,)), fault))
        else:
            yield key(entry[ORIGINAL]), " ".join(entry[language].split()) if entry[language] else ""


def _fault(entry: object, language: str) -> str:
    """Say what is wrong with an entry, "" when nothing is."""
    known = isinstance(entry, dict) and set(entry) == {ORIGINAL, language}
    if not isinstance(entry, dict) or not known or not isinstance(entry[ORIGINAL], str):
        return f"expected a list of pairs: '- {ORIGINAL}: TEXT' and '  {language}: TEXT'"
    said = entry[language]
    if said is None or said == "":
        return ""
    if not isinstance(said, str):
        return f"{language}: expected text"
    try:
        english, other = holes(entry[ORIGINAL]), holes(said)
    except TextError as error:
        return f"{language}: {error}"
    wrong = [*(english - other), *(other - english)]
    return f"{language}: the holes differ from the English text: {', '.join(map(_hole, wrong))}" if wrong else ""


def holes(text: str) -> Counter[tuple[str, str]]:
    """Return (expression, format) of every hole with how often it stands there. Raises TextError."""
    return Counter((one.expression, one.format) for one in placeholders(text))


def _hole(one: tuple[str, str]) -> str:
    return "{" + ":".join(filter(None, one)) + "}"


def translated(base: RuleBase, say: Say) -> RuleBase:
    """Return a rule base whose texts are in another language; what is true, and its names, stay what they are."""
    return replace(
        base,
        rules={name: _rule(rule, say) for name, rule in base.rules.items()},
        events={name: replace(one, title=say(one.title)) for name, one in base.events.items()},
        checklist=[_point(point, say) for point in base.checklist],
        notes=[_point(point, say) for point in base.notes],
    )


def titled(vocabulary: Vocabulary, say: Say) -> Vocabulary:
    """Return a vocabulary with titles in another language."""
    return Vocabulary(
        {name: one._replace(title=say(one.title)) for name, one in vocabulary.series.items()},
        {name: one._replace(title=say(one.title)) for name, one in vocabulary.facts.items()},
        {name: one._replace(title=say(one.title)) for name, one in vocabulary.knobs.items()},
    )


def _rule(rule: Rule, say: Say) -> Rule:
    said: dict[str, Any] = {name: say(getattr(rule, name)) for name in RULE}
    said["not_applicable"] = tuple((say(why), node) for why, node in rule.not_applicable)
    return replace(rule, remedies=tuple(_remedy(one, say) for one in rule.remedies), **said)


def _remedy(remedy: Remedy, say: Say) -> Remedy:
    said: dict[str, Any] = {name: say(getattr(remedy, name)) for name in REMEDY}
    return replace(remedy, **said)


def _point(point: Point, say: Say) -> Point:
    reasons = {state: say(text) for state, text in point.reasons.items()}
    return replace(point, title=say(point.title), reasons=reasons)


def texts(base: RuleBase, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """Return every text to translate by the file that it belongs to, each once and in the order it is read."""
    out: dict[str, list[str]] = {}
    seen: set[str] = set()

    def add(file: str, every: Iterable[str]) -> None:
        fresh = [text for text in dict.fromkeys(map(key, every)) if text and text not in seen]
        seen.update(fresh)
        out.setdefault(file, []).extend(fresh)

    for rule in base.rules.values():
        remedies = [getattr(one, name) for one in rule.remedies for name in REMEDY]
        inside = [text for _, node in rule.placeholders for text in _answers(node)]
        inside += [why for why, _ in rule.not_applicable]
        add(f"{rule.id.replace('.', '/')}.yaml", [*(getattr(rule, name) for name in RULE), *remedies, *inside])
    for file, points in (("checklist.yaml", base.checklist), ("notes.yaml", base.notes)):
        titles = file == "checklist.yaml"
        add(file, [text for one in points for text in (one.title if titles else "", *one.reasons.values())])
    for file, named in (
        ("series.yaml", vocabulary.series.values()),
        ("facts.yaml", vocabulary.facts.values()),
        ("knobs.yaml", vocabulary.knobs.values()),
    ):
        add(file, [one.title for one in named])
    # An event without a title is called by its name.
    add("events.yaml", [one.title for one in base.events.values() if one.title != one.name])
    return out


def _answers(node: Node) -> Iterator[str]:
    """Yield the sentences that an expression in a hole can give: those of its branches, not what it compares with."""
    if node.op == "text" and " " in node.args[0]:
        yield node.args[0]
    elif node.op in ("if", "else"):
        for part in node.args[1:] if node.op == "if" else node.args:
            yield from _answers(part)
