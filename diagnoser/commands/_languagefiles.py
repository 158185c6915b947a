"""The files of a language: what there is to translate, what is missing or stale, and writing them anew."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.language import ORIGINAL, key
from diagnoser.patterns import lazily
from diagnoser.rules.errors import RuleBaseError, RuleError
from diagnoser.rules.model import RuleBase
from diagnoser.rules.translating import FOLDER, pairs, texts

#: The file of the phrases that this program itself says; those of rules are named like the rules.
PHRASES = "reports.yaml"
_IN_TEMPLATES = lazily(r'\bsay\("([^"]+)"\)')


def phrases() -> list[str]:
    """Return every fixed text that the program says, read from its own source: say, phrase, Sentence and plural."""
    found: dict[str, None] = {}
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        # Traces say in their own words what a log says.
        names = ("Sentence", "phrase") if path.parent.name == "traces" else ("Sentence", "say", "phrase", "plural")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found.update(dict.fromkeys(_said(node, names)))
    for path in sorted(package.rglob("templates/*.html")):
        found.update(dict.fromkeys(map(key, _IN_TEMPLATES.findall(path.read_text(encoding="utf-8")))))
    return list(found)


def _said(node: ast.AST, names: Collection[str]) -> Iterator[str]:
    if not isinstance(node, ast.Call) or not node.args:
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "_terminal":
        return  # messages on standard error are English
    words = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if name not in names:
        return
    if name != "plural":
        yield from map(key, words[:1])
    elif words:
        yield f"{{count}} {words[0]}"
        yield f"{{count}} {words[1] if len(words) > 1 else words[0] + 's'}"


def renew(language: str, folder: Path, wanted: dict[str, list[str]], check: bool) -> tuple[list[str], list[str], int]:
    """Write the files of a language: translations stay, new texts come without one, stale ones go.

    ``wanted`` maps a file to its English texts. Returns the missing and the stale texts and how many files changed;
    with ``check`` nothing is written. Raises RuleBaseError for faulty files.
    """
    place = folder / FOLDER / language
    have: dict[str, str] = {}
    errors: list[RuleError] = []
    for path in sorted(place.rglob("*.yaml")):
        have |= dict(pairs(path, language, errors))
    if errors:
        raise RuleBaseError(errors)
    every = {text for listed in wanted.values() for text in listed}
    missing = [text for text in every if not have.get(text)]
    changed = 0
    for file, listed in wanted.items():
        written = _page(language, [(text, have.get(text, "")) for text in listed])
        path = place / file
        if listed and not check and (not path.is_file() or path.read_text(encoding="utf-8") != written):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written, encoding="utf-8")
            changed += 1
    for path in [] if check else place.rglob("*.yaml"):
        if path.relative_to(place).as_posix() not in wanted:
            path.unlink()
            changed += 1
    return sorted(missing), sorted(set(have) - every), changed


def shipped(base: RuleBase, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """Return the texts of the shipped rules and of this program by file, each once."""
    own = texts(base, vocabulary)
    said = {text for every in own.values() for text in every}
    return {**own, PHRASES: [text for text in phrases() if text not in said]}


def wanted(folder: Path) -> dict[str, list[str]]:
    """Return the texts of a folder of rules by file; of the shipped one with the phrases of this program."""
    from diagnoser.rules.loader import load, load_vocabulary

    vocabulary = load_vocabulary(rules_dir())
    own = shipped(load([rules_dir()], vocabulary), vocabulary)
    if folder.resolve() == rules_dir().resolve():
        return own
    said = {text for every in own.values() for text in every}
    every = texts(load([rules_dir(), folder], vocabulary), vocabulary)
    fresh = {file: [text for text in of if text not in said] for file, of in every.items()}
    return {file: of for file, of in fresh.items() if of}


def _page(language: str, texts: list[tuple[str, str]]) -> str:
    import yaml

    rows = [{ORIGINAL: english, language: said} for english, said in texts]
    return yaml.safe_dump(rows, allow_unicode=True, sort_keys=False, width=10**6)
