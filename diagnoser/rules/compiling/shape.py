"""Checks a YAML document against its pydantic model and says in plain words, with line and column, what is wrong."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from diagnoser.knowledge.words import hint
from diagnoser.knowledge.yamlfile import Document
from diagnoser.rules.errors import RuleError

Model = TypeVar("Model", bound=BaseModel)

_EXPECTED = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "list_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}


def check_shape(document: Document, model: type[Model]) -> tuple[Model | None, list[RuleError]]:
    """Return the validated model, or None with every fault of the document's shape."""
    if not isinstance(document.data, dict):
        return None, [fault(document, (), "expected a mapping of keys")]
    try:
        return model.model_validate(document.data), []
    except ValidationError as error:
        return None, [_translate(document, model, detail) for detail in error.errors(include_url=False)]


def fault(document: Document, path: Sequence[str | int], text: str, *, value: bool = False) -> RuleError:
    """Make the error that says ``text`` about the part at ``path`` (its key, or with ``value`` what stands there)."""
    line, column = document.place(written(document, path), value=value)
    return RuleError(document.file, line, column, text)


def written(document: Document, path: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return ``path`` without the index 0 of lists that the file writes as one bare item."""
    data, steps = document.data, []
    for step in path:
        if isinstance(step, int) and not isinstance(data, list):
            continue
        steps.append(step)
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list):
            data = data[step] if isinstance(step, int) and step < len(data) else None
    return tuple(steps)


def _translate(document: Document, model: type[BaseModel], detail: Any) -> RuleError:
    path, kind = tuple(detail["loc"]), detail["type"]
    named = str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        keys = _keys(_type_at(model, path[:-1]))
        return fault(document, path, f"unknown key '{named}'{hint(named, keys) or _listing(keys)}")
    if kind == "missing":
        return fault(document, path[:-1], f"'{named}' is missing")
    if named == "[key]":
        return _bad_key(document, model, path[:-1], detail)
    if kind == "literal_error":
        words = [str(word) for word in get_args(_unwrap(_type_at(model, path)))]
        given = detail["input"]
        found = hint(given, words) if isinstance(given, str) else ""
        return fault(document, path, f"'{given}' is none of {', '.join(filter(None, words))}{found}", value=True)
    text = _EXPECTED.get(kind, detail["msg"])
    if kind.endswith("_type"):
        text += f", not {_shown(detail['input'])}"
        text += "; put it in quotes" if kind == "string_type" and isinstance(detail["input"], int | float) else ""
    return fault(document, path, f"{named}: {text}" if named and isinstance(path[-1], str) else text, value=True)


def _bad_key(document: Document, model: type[BaseModel], path: tuple[Any, ...], detail: Any) -> RuleError:
    """Say what is wrong with the name of an entry: an engine, a severity, an event's or a symptom's name."""
    key = str(path[-1])
    if detail["type"] == "literal_error":
        words = [str(word) for word in get_args(get_args(_unwrap(_type_at(model, path[:-1])))[0])]
        return fault(document, path, f"'{key}' is none of {', '.join(words)}{hint(key, words)}")
    return fault(document, path, f"'{key}' is no name here: lower-case words, digits and '_', dots between them")


def _listing(keys: Sequence[str]) -> str:
    return f"; known keys: {', '.join(sorted(keys))}" if keys else ""


def _shown(value: Any) -> str:
    """Name the kind of a value in YAML's words."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool | str):
        return f"the word {str(value).lower() if isinstance(value, bool) else value}"
    return f"the number {value}"


def _type_at(annotation: Any, path: Sequence[str | int]) -> Any:
    """Follow ``path`` through models, mappings and lists; None where it leaves the declared types."""
    for step in path:
        annotation = _unwrap(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = next(
                (info.annotation for name, info in annotation.model_fields.items() if (info.alias or name) == step),
                None,
            )
        elif get_origin(annotation) in (dict, list):
            annotation = get_args(annotation)[-1]
        else:
            return None
    return _unwrap(annotation)


def _unwrap(annotation: Any) -> Any:
    """Take ``Annotated`` and ``| None`` off a type."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, types.UnionType):
            annotation = next(part for part in get_args(annotation) if part is not type(None))
        else:
            return annotation


def _keys(annotation: Any) -> list[str]:
    """Keys that a model accepts."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [info.alias or name for name, info in annotation.model_fields.items()]
    return [str(word) for word in get_args(annotation)] if get_origin(annotation) is Literal else []
