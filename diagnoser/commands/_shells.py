"""Completion scripts: what can be typed, in the words of bash, zsh and fish. Nothing is started while one types."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from diagnoser.commands._surface import Option, Surface

_HEAD = "# Completion of diagnose for {shell}, made by: diagnose completion {shell}\n"


def bash(found: Sequence[Surface], rules: Sequence[str]) -> str:
    """Return the script for bash, 4 or newer."""
    main, *subs = found
    out = [_HEAD.format(shell="bash"), "_diagnose() {\n"]
    out.append('  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command="" words="" kind=file\n')
    # Bash takes the sign in --option=value for a word of its own.
    out.append('  if [[ $cur == "=" ]]; then cur=""\n')
    out.append('  elif [[ $prev == "=" && COMP_CWORD -ge 2 ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n')
    out.append(f"  local rules={shlex.quote(' '.join(rules))}\n")
    out.append(f"  if (( COMP_CWORD > 1 )); then case ${{COMP_WORDS[1]}} in {'|'.join(one.name for one in subs)})\n")
    out.append("    command=${COMP_WORDS[1]};; esac; fi\n")
    out.append('  case "$command:$prev" in\n')
    for one in found:
        for option in one.options:
            if option.metavar:
                patterns = "|".join(f'"{one.name}:{flag}"' for flag in option.flags)
                out.append(f"    {patterns}) {_bash_value(option)} cur=${{cur#=}};;\n")
    out.append('    *) case "$command" in\n')
    for one in subs:
        flags = " ".join(flag for option in one.options for flag in option.flags)
        names = " ".join(value for name in one.names for value in name.values)
        kind = next((name.kind for name in one.names if name.kind), "none" if not names else "")
        more = " $rules" if kind == "rule" else ""
        out.append(f"      {one.name}) kind={kind or 'none'}; if [[ $cur == -* ]]; then kind=none; ")
        out.append(f"words={shlex.quote(flags)}; ")
        out.append(f'else words={shlex.quote(names)}"{more}"; fi;;\n')
    flags = " ".join(flag for option in main.options for flag in option.flags)
    out.append(f"      *) if [[ $cur == -* ]]; then words={shlex.quote(flags)}; kind=none\n")
    out.append(
        f"         elif (( COMP_CWORD == 1 )); then words={shlex.quote(' '.join(one.name for one in subs))}; fi;;\n"
    )
    out.append("    esac;;\n  esac\n")
    out.append("  COMPREPLY=()\n  local IFS=$'\\n'\n")
    out.append('  [[ -n $words ]] && COMPREPLY+=($(compgen -W "${words// /$IFS}" -- "$cur"))\n')
    out.append('  [[ $kind == file ]] && COMPREPLY+=($(compgen -f -- "$cur"))\n')
    out.append('  [[ $kind == folder ]] && COMPREPLY+=($(compgen -d -- "$cur"))\n')
    out.append("  return 0\n}\ncomplete -o filenames -F _diagnose diagnose\n")
    return "".join(out)


def _bash_value(option: Option) -> str:
    if option.values:
        return f"words={shlex.quote(' '.join(option.values))}; kind=none;"
    if option.kind == "rule":
        return "words=$rules; kind=none;"
    return f"kind={option.kind or 'none'};"


def zsh(found: Sequence[Surface], rules: Sequence[str]) -> str:
    """Return the script for zsh: to be sourced, or a file _diagnose on fpath."""
    main, *subs = found
    out = ["#compdef diagnose\n", _HEAD.format(shell="zsh"), "_diagnose() {\n"]
    out.append(f"  local -a rules subs\n  rules=({' '.join(rules)})\n  subs=(\n")
    out += [f"    {_quoted(f'{one.name}:{one.help}')}\n" for one in subs]
    out.append("  )\n  if (( CURRENT > 2 )); then case ${words[2]} in\n")
    for one in subs:
        specs = [*_zsh_options(one), *_zsh_names(one)]
        out.append(f"    {one.name}) shift words; (( CURRENT-- ))\n      _arguments -s -S \\\n        ")
        out.append(" \\\n        ".join(specs) + "\n      return;;\n")
    out.append("  esac; fi\n  _arguments -s -S \\\n    " + " \\\n    ".join(_zsh_options(main)))
    out.append(" \\\n    '1: :_diagnose_first' '*:input:_files'\n}\n")
    out.append("_diagnose_first() {\n  _describe -t commands 'sub-command' subs\n  _files\n}\n")
    out.append('if [[ ${funcstack[1]} == _diagnose ]]; then _diagnose "$@"; else compdef _diagnose diagnose; fi\n')
    return "".join(out)


def _zsh_options(one: Surface) -> list[str]:
    out: list[str] = []
    for option in one.options:
        said = option.help.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
        value = f":{option.metavar}:{_zsh_value(option)}" if option.metavar else ""
        for flag in option.flags:
            sign = ("=" if flag.startswith("--") else "+") if option.metavar else ""
            out.append(_quoted(f"*{flag}{sign}[{said}]{value}"))
    return out


def _zsh_names(one: Surface) -> list[str]:
    return [_quoted(f"{'*' if at == len(one.names) else at}:{name.metavar}:{_zsh_value(name)}")
            for at, name in enumerate(one.names, 1)]  # fmt: skip


def _zsh_value(option: Option) -> str:
    if option.values:
        return f"({' '.join(option.values)})"
    return {"file": "_files", "folder": "_files -/", "rule": "{compadd -a rules}"}.get(option.kind, " ")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(found: Sequence[Surface], rules: Sequence[str]) -> str:
    """Return the script for fish."""
    subs = found[1:]
    names = " ".join(one.name for one in subs)
    out = [_HEAD.format(shell="fish"), f"set -l rules {' '.join(rules)}\n"]
    out.append(f"set -l none 'not __fish_seen_subcommand_from {names}'\n")
    out += [f"complete -c diagnose -n __fish_is_first_token -a {one.name} -d {_fish(one.help)}\n" for one in subs]
    for one in found:
        when = f"'__fish_seen_subcommand_from {one.name}'" if one.name else "$none"
        for option in one.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            out.append(f"complete -c diagnose -n {when} {flags}{_fish_value(option)} -d {_fish(option.help)}\n")
        if not one.name:
            continue
        words = [f'"{" ".join(name.values)}"' for name in one.names if name.values]
        words += ['"$rules"' for name in one.names if name.kind == "rule"]
        plain = "" if any(name.kind in ("file", "folder") for name in one.names) else " -f"
        out += [f"complete -c diagnose -n {when}{plain} -a {word}\n" for word in words or ([] if not plain else ['""'])]
    return "".join(out)


def _fish_value(option: Option) -> str:
    if not option.metavar:
        return ""
    if option.values:
        return f' -x -a "{" ".join(option.values)}"'
    kinds = {"file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'", "rule": ' -x -a "$rules"'}
    return kinds.get(option.kind, " -x")


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
