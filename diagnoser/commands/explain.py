"""`diagnose explain`: what a finding means, how it is recognised and what mends it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnoser.commands import _terminal
from diagnoser.commands._errors import CommandError
from diagnoser.commands._parser import Parser, add_common, add_language, one_of
from diagnoser.language import ENGLISH, Say

if TYPE_CHECKING:
    from diagnoser.knowledge.vocabulary import Vocabulary
    from diagnoser.rules.model import RuleBase

HELP = "what a finding, a sample or a fact means, and what mends it"
DESCRIPTION = """\
Explains the id of a finding (memory.kv_cache_exhausted), the name of a sample, fact or knob (kv.usage), or a
field as an engine prints it ("token usage")."""


def main(arguments: Sequence[str]) -> int:
    """Print one page, a list, or write all pages."""
    parser = _parser()
    for word in arguments[:1]:
        if word.startswith("--") and "=" not in word and not parser.knows(word):
            flag = word.lstrip("-")
            raise CommandError(f"explain: {word} is no option here; a flag of an engine: diagnose catalog flag {flag}")
    args = parser.read(arguments)
    if not (args.name or args.list or args.all):
        raise CommandError("explain: give an id, or --list; to read a file of this name: diagnose ./explain")
    from diagnoser.commands import _knowledge

    base, vocabulary, say = _knowledge.load_in(args.lang, args.rules)
    if args.all:
        return _write_all(base, vocabulary, args, say)
    text = _list(base, vocabulary, args.format) if args.list else _page(args, base, vocabulary, say)
    _terminal.write(text, args.output, for_people=args.format == "text")
    return 0


def _parser() -> Parser:
    parser = Parser("diagnose explain", DESCRIPTION, "DIAGNOSE_EXPLAIN", usage="diagnose explain [OPTION ...] NAME")
    parser.add_argument("name", metavar="NAME", nargs="?", help="id of a rule, or a name of the vocabulary")
    parser.add_argument("--list", action="store_true", help="list everything that can be explained")
    parser.add_argument("--all", action="store_true", help="write the page of every rule under --output (docs/rules)")
    parser.add_argument(
        "--check", action="store_true", help="with --all: write nothing, exit 1 when a page is not current"
    )
    formats = ("text", "markdown", "json")
    parser.add_argument("--format", metavar="NAME", type=one_of(formats), default="text", help=", ".join(formats))
    parser.add_argument("-o", "--output", metavar="PATH", help="write to this file; with --all: to this folder")
    add_language(parser, add_common(parser))
    return parser


def _page(args: argparse.Namespace, base: RuleBase, vocabulary: Vocabulary, say: Say) -> str:
    width = _terminal.render_options("never", None, bool(args.output)).width
    return page(args.name, base, vocabulary, args.format, width, say)


def page(name: str, base: RuleBase, vocabulary: Vocabulary, form: str, width: int = 100, say: Say = ENGLISH) -> str:
    """Return the page of a rule or of a name of the vocabulary. Raises CommandError for what is neither."""
    from diagnoser.commands import _fieldpage, _pagetext, _rulepage

    width = min(100, width)
    rule = _find(name, base)
    if rule is not None:
        described = _rulepage.describe(base.rules[rule], base, vocabulary, say)
        if form == "json":
            return _json(described)
        markdown = form == "markdown"
        return _pagetext.rule_markdown(described, say) if markdown else _pagetext.rule_text(described, width, say)
    pages = _fieldpage.describe(name, base, vocabulary)
    if not pages:
        raise CommandError(_unknown(name, base, vocabulary))
    if form == "json":
        return _json(pages)
    markdown = form == "markdown"
    return _pagetext.field_markdown(pages, say) if markdown else _pagetext.field_text(pages, width, say)


def _find(name: str, base: RuleBase) -> str | None:
    """Return the rule of this id, or the only one whose id ends so: nobody remembers the stage."""
    if name in base.rules:
        return name
    short = [rule for rule in base.rules if rule.rpartition(".")[2] == name]
    return short[0] if len(short) == 1 else None


def _unknown(name: str, base: RuleBase, vocabulary: Vocabulary) -> str:
    from diagnoser.commands import _fieldpage
    from diagnoser.knowledge.words import hint, nearest

    words = {*base.rules, *_fieldpage.names(base, vocabulary), *_fieldpage.labels(vocabulary)}
    short = {rule.rpartition(".")[2]: rule for rule in base.rules}
    stage, dot, cause = name.partition(".")
    if dot and stage in {rule.stage for rule in base.rules.values()}:
        # Ids of a stage are alike by the stage alone.
        near = nearest(name, words, 0.8) or short.get(nearest(cause, short) or "")
        told = f"; did you mean {near}?" if near else "; a rule of your own needs --rules DIR"
    else:
        told = hint(name, words) or hint(name, short) or "; see diagnose explain --list"
    return f"explain: unknown name '{name}'{told}"


def _list(base: RuleBase, vocabulary: Vocabulary, form: str) -> str:
    from diagnoser.commands import _fieldpage

    rules = {rule.id: rule.title for rule in base.rules.values()}
    fields = _fieldpage.names(base, vocabulary)
    if form == "json":
        return _json({"rules": rules, "names": fields})
    width = max(map(len, (*rules, *fields)), default=0)
    both = [*rules.items(), ("", ""), *fields.items()]
    if form == "markdown":
        return "".join(f"- `{name}`: {title}\n" if name else "\n" for name, title in both)
    return "".join(f"{name:<{width}}  {title}".rstrip() + "\n" for name, title in both)


def _write_all(base: RuleBase, vocabulary: Vocabulary, args: argparse.Namespace, say: Say) -> int:
    from diagnoser.commands import _pagetext, _rulepage

    folder = Path(args.output or "docs/rules")
    pages = {
        f"{rule.id.replace('.', '/')}.md": _pagetext.rule_markdown(_rulepage.describe(rule, base, vocabulary, say), say)
        for rule in base.rules.values()
    }
    pages["README.md"] = _index(base)
    stale = [path for path in folder.rglob("*.md") if path.relative_to(folder).as_posix() not in pages]
    changed = [name for name, text in pages.items() if _read(folder / name) != text]
    if args.check:
        for name in [*changed, *(path.relative_to(folder).as_posix() for path in stale)]:
            _terminal.say(f"{folder / name} is not current; run: diagnose explain --all --output {folder}")
        return int(bool(changed or stale))
    for name in changed:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        _terminal.write_file(folder / name, pages[name])
    if not args.quiet:
        _terminal.say(f"{len(pages)} pages in {folder}, {len(changed)} written")
        for path in stale:
            _terminal.say(f"{path} belongs to no rule")
    return 0


def _index(base: RuleBase) -> str:
    from diagnoser.reports.safe import markdown

    out = ["# Rules", "", "Made by `diagnose explain --all`.", ""]
    for stage in dict.fromkeys(rule.stage for rule in base.rules.values()):
        out += [f"## {stage}", ""]
        rules = [rule for rule in base.rules.values() if rule.stage == stage]
        out += [f"- [{rule.id}]({rule.id.replace('.', '/')}.md): {markdown(rule.title)}" for rule in rules]
        out.append("")
    return "\n".join(out)


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
