"""argparse with errors that name the nearest right word, and an environment twin for every long option."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from diagnoser.commands._errors import CommandError
from diagnoser.commands._terminal import columns

#: Longer lines of help are hard to read.
_WIDEST = 100

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Parser(argparse.ArgumentParser):
    """Parses one command. ``twins`` is the prefix of its environment variables, such as ``DIAGNOSE``."""

    def __init__(self, prog: str, description: str, twins: str, **more: Any) -> None:
        #: argparse makes a formatter for every option it is given; only the help wants the terminal's width.
        self._columns = _WIDEST
        super().__init__(
            prog,
            description=description,
            allow_abbrev=False,  # an abbreviation that works today is an ambiguity tomorrow
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=26, width=self._columns
            ),
            **more,
        )
        self.twins = twins
        #: Options whose twin has no sub-command in its name, because they mean the same everywhere.
        self.common: set[str] = set()

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self._columns = max(60, min(_WIDEST, columns(_WIDEST) - 1))
        return super().format_help()

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse: the command line beats the environment, the environment beats the default."""
        if not {"-h", "--help"} & set(arguments):
            self._read_environment()
        # Names may stand on both sides of an option: `compare before.log --fail-on worse after.log`.
        found, rest = self.parse_known_intermixed_args(list(arguments))
        unknown = [word for word in rest if word.startswith("-")]
        if unknown:
            self._unknown_option(unknown[0])
        if rest:
            self.error(f"unexpected argument '{rest[0]}'")
        return found

    def twin(self, action: argparse.Action) -> str:
        """Return the environment variable of an option, empty when it has none."""
        long = [option for option in action.option_strings if option.startswith("--")]
        if not long or action.dest in ("help", "version"):
            return ""
        prefix = "DIAGNOSE" if action.dest in self.common else self.twins
        return f"{prefix}_{long[0][2:].replace('-', '_').upper()}"

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing usage: one line says it."""
        told = message.removeprefix("argument ")
        raise CommandError(f"{told}\ntry: {self.prog} --help")

    def knows(self, option: str) -> bool:
        """Whether this is one of the options, or close enough to be meant for one."""
        from diagnoser.knowledge.words import nearest

        return nearest(option, (name for name in self._option_string_actions if len(name) > 2)) is not None

    def _unknown_option(self, word: str) -> NoReturn:
        from diagnoser.knowledge.words import hint

        option = word.split("=", 1)[0]
        action = self._option_string_actions.get("--format")
        if action is not None and self._takes(action, option.lstrip("-")):
            self.error(f"unknown option {option}; did you mean --format {option.lstrip('-')}?")
        self.error(
            f"unknown option {option}{hint(option, (name for name in self._option_string_actions if len(name) > 2))}"
        )

    @staticmethod
    def _takes(action: argparse.Action, value: str) -> bool:
        try:
            return callable(action.type) and bool(action.type(value))
        except (argparse.ArgumentTypeError, ValueError):
            return False

    def _read_environment(self) -> None:
        for action in self._actions:
            variable = self.twin(action)
            text = os.environ.get(variable, "") if variable else ""
            if text:
                self.set_defaults(**{action.dest: self._value(action, variable, text)})

    def _value(self, action: argparse.Action, variable: str, text: str) -> Any:
        if action.nargs == 0:
            if text.lower() in _TRUE + _FALSE:
                return text.lower() in _TRUE
            self.error(f"{variable}: '{text}' is neither of {', '.join(_TRUE + _FALSE)}")
        convert: Callable[[str], Any] = action.type if callable(action.type) else str
        try:
            if isinstance(action.default, list):
                return [convert(part) for part in text.split(os.pathsep) if part]
            return convert(text)
        except (argparse.ArgumentTypeError, ValueError) as error:
            self.error(f"{variable}: {error}")


class one_of:  # noqa: N801 - reads like the functions that argparse takes for a type
    """An argparse type that takes one of these words and names the nearest for any other."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = tuple(values)

    def __call__(self, text: str) -> str:
        """Return the word. Raises ArgumentTypeError."""
        if text in self.values:
            return text
        from diagnoser.knowledge.words import hint

        known = self.values
        raise argparse.ArgumentTypeError(f"unknown value '{text}'{hint(text, known)} (one of {', '.join(known)})")


def add_common(parser: Parser, rules: bool = True) -> argparse._ArgumentGroup:
    """Add the options that every command has; return their group."""
    group = parser.add_argument_group("common")
    if rules:
        group.add_argument(
            "--rules", metavar="DIR", action="append", default=[], help="load more rules; may be repeated"
        )
    group.add_argument("-q", "--quiet", action="store_true", help="nothing on standard error but errors")
    group.add_argument("-v", "--verbose", action="store_true", help="all evidence, every figure; tracebacks of defects")
    parser.common |= {"rules", "quiet", "verbose"}
    return group


def add_language(parser: Parser, group: argparse._ArgumentGroup) -> None:
    """Add the option that says in which language texts are; its twin is DIAGNOSE_LANG everywhere."""
    group.add_argument(
        "--lang",
        metavar="CODE",
        default="en",
        help="language of the texts: en (default), zh, or one of --rules; never names, levels or keys",
    )
    parser.common.add("lang")
