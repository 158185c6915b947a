"""`diagnose man`: the manual page, made from the parsers, so that it says what the program takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnoser.commands import _options, _terminal
from diagnoser.commands._parser import Parser, add_common
from diagnoser.commands._surface import Option, Surface, surfaces

HELP = "the manual page"
DESCRIPTION = """\
  diagnose man | man -l -                                          read it
  diagnose man > ~/.local/share/man/man1/diagnose.1                then: man diagnose"""


def main(arguments: Sequence[str]) -> int:
    """Print the page."""
    args = _parser().read(arguments)
    _terminal.write("".join(f"{line}\n" for line in _page(surfaces())), args.output, for_people=False)
    return 0


def _parser() -> Parser:
    parser = Parser("diagnose man", DESCRIPTION, "DIAGNOSE_MAN", usage="diagnose man [OPTION ...]")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there")
    add_common(parser, rules=False)
    return parser


def _page(found: Sequence[Surface]) -> Iterator[str]:
    import os

    from diagnoser import __version__

    main_, *subs = found
    yield f'.TH DIAGNOSE 1 "" "diagnoser {_text(__version__)}" "User Commands"'
    yield from (".SH NAME", r"diagnose \- find out why an LLM inference server is slow or down", ".SH SYNOPSIS")
    yield from _block(f"{main_.usage}\nkubectl logs deploy/llm | diagnose\ndiagnose SUB-COMMAND ...")
    yield ".SH DESCRIPTION"
    yield _text(" ".join(_options.DESCRIPTION.split()))
    yield ".SH OPTIONS"
    yield from _listed(main_)
    yield ".SH SUB-COMMANDS"
    for one in subs:
        yield f'.SS "diagnose {one.name}: {_quoted(one.help)}"'
        yield from _block(f"{one.usage}\n\n{one.description}")
        yield from _listed(one)
    for title, text in (
        ("EXAMPLES", _options.EXAMPLES),
        ("EXIT STATUS", _options.EXIT_CODES),
        ("ENVIRONMENT", _options.ENVIRONMENT.format(sep=os.pathsep)),
    ):
        yield f".SH {title}"
        yield from _block("\n".join(line.removeprefix("  ") for line in text.split("\n")[1:]))


def _listed(one: Surface) -> Iterator[str]:
    """Yield options under their groups, common ones of sub-commands left to the page of the bare command."""
    group = ""
    for option in one.options:
        if (one.name and option.group == "common") or "--help" in option.flags:
            continue
        if not one.name and option.group != group and option.group != "options":
            group = option.group
            yield f'.SS "{_quoted(group)}"'
        yield from (".TP", _flags(option), _text(option.help) or r"\&")


def _flags(option: Option) -> str:
    value = rf" \fI{_text(option.metavar)}\fR" if option.metavar else ""
    return ", ".join(rf"\fB{_text(flag)}\fR{value}" for flag in option.flags)


def _block(text: str) -> Iterator[str]:
    """Yield text as it stands, line by line."""
    yield from (".nf", *(_text(line) or ".sp" for line in text.split("\n")), ".fi")


def _text(text: str) -> str:
    """Escape what roff takes for its own: backslashes, hyphens that are minus signs, control lines."""
    told = (
        text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga").replace("^", r"\(ha")
    )
    told = told.replace("~", r"\(ti")
    return rf"\&{told}" if told.startswith((".", r"\(aq")) else told


def _quoted(text: str) -> str:
    return _text(text).replace('"', r"\(dq")
