"""`diagnose completion`: scripts by which bash, zsh and fish complete options, sub-commands and ids of rules."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.commands import _terminal
from diagnoser.commands._parser import Parser, add_common, one_of

HELP = "completion for bash, zsh or fish"
DESCRIPTION = """\
  bash   diagnose completion bash > ~/.local/share/bash-completion/completions/diagnose
  zsh    diagnose completion zsh > "${fpath[1]}/_diagnose"
  fish   diagnose completion fish > ~/.config/fish/completions/diagnose.fish

Or in a session only: eval "$(diagnose completion bash)". Ids of rules are those of now: make it again after an
upgrade."""
_SHELLS = ("bash", "zsh", "fish")


def main(arguments: Sequence[str]) -> int:
    """Print the script."""
    parser = _parser()
    args = parser.read(arguments)
    if args.shell is None:
        parser.error(f"completion: for which shell? {', '.join(_SHELLS)}")
    from diagnoser.commands import _shells
    from diagnoser.commands._surface import rule_ids, surfaces

    script = getattr(_shells, args.shell)(surfaces(), rule_ids())
    _terminal.write(script, args.output, for_people=False)
    return 0


def _parser() -> Parser:
    parser = Parser("diagnose completion", DESCRIPTION, "DIAGNOSE_COMPLETION", usage="diagnose completion SHELL")
    parser.add_argument("shell", metavar="SHELL", nargs="?", type=one_of(_SHELLS), help=", ".join(_SHELLS))
    parser.add_argument("-o", "--output", metavar="FILE", help="write there")
    add_common(parser, rules=False)
    return parser
