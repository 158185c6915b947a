"""The launch command of a run as its log shows it, with one change, ready to paste; secrets are never printed."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from diagnoser.knowledge.versions import parse_version
from diagnoser.patterns import lazily
from diagnoser.remedies.context import Context, same

HIDDEN = "***"
#: Stands for words that the log does not show. No shell takes it for anything, and no engine accepts it.
ELLIPSIS = "…"

_SECRET = lazily(r"(?:^|_)(?:api_key|access_key|token|password|passwd|secret|credentials?)$")
_INSIDE = lazily(
    r"""hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|(?<=://)[^/\s:@"']+:[^/\s@"']+(?=@)"""
    r"""|(?<=api_key": ")[^"]+|(?<=token": ")[^"]+|(?<=password": ")[^"]+"""
)
#: A Python object as its class prints it, which no flag takes.
_OBJECT = lazily(r"<.+>\Z|[A-Za-z_][\w.]*\(.*\)\Z")
#: Characters of a printed list or mapping that is still taken apart.
_LONGEST = 4000
#: Arguments that are the model itself, or repeat it, or belong to no flag.
_MODEL = ("model_tag", "model", "model_path")
_FIRST_SERVE = parse_version("0.5.3")


def words(dest: str, flag: str, value: Any, negative: str | None, is_switch: bool) -> list[str]:
    """Return the words that set an argument, none for what has none. Secrets become ``***``.

    An ellipsis alone is for a value that no command line takes: a Python object, or "true" of a flag with a value.
    """
    value = _unpacked(value)
    if value is None:
        return []
    if isinstance(value, bool):
        return [flag if is_switch else ELLIPSIS] if value else [negative] if negative else []
    if _SECRET.search(dest):
        return [flag, HIDDEN]
    if isinstance(value, str) and _OBJECT.match(value):
        value = _settings(value)
        if value is None:
            return [ELLIPSIS]
    if isinstance(value, dict):
        return [flag, masked(_plain(value))]
    if isinstance(value, list | tuple):
        return [flag, *(masked(_plain(item)) for item in value)] if value else []
    return [flag, masked(_plain(value))]


def masked(text: str) -> str:
    """Replace what looks like a key, a token or a password inside a value."""
    return _INSIDE.sub(HIDDEN, text)


def command(context: Context, remove: Sequence[str], add: Sequence[str], env: Sequence[str]) -> str:
    """Return the launch command after a change, quoted for a shell.

    Holds what the operator set; an ellipsis stands for what the log does not tell apart from defaults.
    """
    gone = {word for word in (*remove, *add) if word.startswith("--")}
    gone |= {"--" + word[5:] for word in gone if word.startswith("--no-")}
    dests = {context.catalog.dest(context.engine, word) for word in gone}
    kept = list(_kept(context, dests))
    parts = [*env, *_program(context), *(word for word in kept if word != ELLIPSIS)]
    if ELLIPSIS in kept or not _complete(context):
        parts.append(ELLIPSIS)
    parts += add
    return " ".join(_quoted(part) for part in parts)


def _program(context: Context) -> list[str]:
    model = next((masked(str(fact.value)) for fact in _model(context) if fact is not None and fact.value), "")
    if context.engine == "vllm":
        version = parse_version(context.version or "")
        if version is not None and _FIRST_SERVE is not None and version < _FIRST_SERVE:
            return ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", model or ELLIPSIS]
        return ["vllm", "serve", model or ELLIPSIS]
    if context.engine == "sglang":
        return ["python", "-m", "sglang.launch_server", "--model-path", model or ELLIPSIS]
    if context.engine == "sglang-router":
        return ["python", "-m", "sglang_router.launch_router"]
    return [ELLIPSIS]


def _model(context: Context) -> Iterator[Any]:
    for name in _MODEL:
        yield context.run.arguments.get(name)
    yield context.run.facts.get("model.name")


def _kept(context: Context, changed: set[str]) -> Iterator[str]:
    arguments = context.run.arguments
    model = next((fact.value for fact in _model(context) if fact is not None and fact.value), None)
    for dest, fact in arguments.items():
        if fact.state != "set" or dest in _MODEL or dest in changed:
            continue
        if dest == "tokenizer_path" and model is not None and same(fact.value, model):
            continue  # SGLang fills it in
        flag = context.catalog.flag_for_dest(context.engine, dest, context.version)
        if flag is None or flag.dest in changed:
            continue
        negative = f"--no-{flag.name[2:]}"
        has = context.catalog.has_flag(context.engine, negative, context.version)
        yield from words(dest, flag.name, fact.value, negative if has else None, flag.is_switch)


def _complete(context: Context) -> bool:
    """Whether the log tells all that the operator set.

    A dump of what differs from the defaults does. One that prints everything does not where a default is not known.
    """
    told = [fact for fact in context.run.arguments.values() if fact.value is not None]
    dumps = {fact.origin for fact in told if fact.state == "set"}
    return bool(dumps) and not any(fact.origin in dumps for fact in told if fact.state == "observed")


def _unpacked(value: Any) -> Any:
    """Read a list or mapping that the log printed the Python way; engines take mappings as JSON."""
    if isinstance(value, str) and value[:1] in ("{", "[", "(") and len(value) <= _LONGEST:
        import ast  # few logs print one

        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(value)
    return value


def _settings(value: str) -> dict[str, Any] | None:
    """Read ``KVTransferConfig(kv_role='kv_consumer')`` as the mapping that its flag takes; None for other objects."""
    import ast  # few logs print one

    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        call = ast.parse(value[:_LONGEST], mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(word.arg for word in call.keywords):
            told = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            return {name: given for name, given in told.items() if given is not None}
    return None


def _plain(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, sort_keys=True, default=str)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _quoted(word: str) -> str:
    name, equals, value = word.partition("=")
    if equals and name.isidentifier():
        return f"{name}={shlex.quote(value)}"  # a variable in front of the command
    return word if word == ELLIPSIS else shlex.quote(word)
