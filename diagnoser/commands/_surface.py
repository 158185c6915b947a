"""What can be typed: every sub-command with its options, their values and their words, read from the parsers."""

from __future__ import annotations

import argparse

from diagnoser import commands
from diagnoser.commands import _options
from diagnoser.commands._parser import Parser
from diagnoser.values import dataclass

#: What a placeholder stands for; any other is a word that nobody can guess.
_KINDS = {"FILE": "file", "INPUT": "file", "PATH": "file", "DIR": "folder", "ID": "rule"}


@dataclass(slots=True, frozen=True)
class Option:
    """An option, or a name without one (no ``flags``).

    ``metavar`` is "" where it takes nothing; ``values`` are all there are; ``kind`` is "file", "folder", "rule" or "".
    """

    flags: tuple[str, ...]
    metavar: str
    values: tuple[str, ...]
    kind: str
    help: str
    group: str


@dataclass(slots=True, frozen=True)
class Surface:
    """One command: ``name`` is "" for the bare one."""

    name: str
    usage: str
    help: str
    description: str
    options: tuple[Option, ...]
    names: tuple[Option, ...]


def surfaces() -> list[Surface]:
    """Return the bare command and every sub-command, by name."""
    found = [_surface("", "", _options.parser(), _options.DESCRIPTION)]
    for name in commands.names():
        module = commands.load(name)
        parser: Parser = module._parser()  # type: ignore[attr-defined]
        found.append(_surface(name, module.HELP, parser, parser.description or ""))
    return found


def rule_ids() -> list[str]:
    """Return the ids of all rules there are, those of installed packs too."""
    from diagnoser.commands import _knowledge

    return sorted(_knowledge.load([])[0].rules)


def _surface(name: str, help_: str, parser: Parser, description: str) -> Surface:
    options: list[Option] = []
    names: list[Option] = []
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        for action in group._group_actions:
            if action.help is argparse.SUPPRESS:
                continue
            said = formatter._expand_help(action) if action.help else ""
            one = _option(name, action, said, group.title or "")
            (options if one.flags else names).append(one)
    return Surface(
        name, formatter._format_usage(parser.usage, [], [], "").strip(), help_, description, (*options,), (*names,)
    )


def _option(command: str, action: argparse.Action, said: str, group: str) -> Option:
    metavar = str(action.metavar or action.dest.upper()) if action.nargs != 0 else ""
    values = tuple(getattr(action.type, "values", ()))
    if action.dest == "format" and not values:
        from diagnoser import reports

        values = tuple(sorted(reports.formats()))
    kind = "" if values else _KINDS.get(metavar, "")
    if command == "explain" and metavar == "NAME" and not action.option_strings:
        kind = "rule"
    if command == "rules" and metavar == "WHAT":
        kind = "file"
    return Option(tuple(action.option_strings), metavar, values, kind, said, group)
