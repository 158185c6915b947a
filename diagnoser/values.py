"""Dataclasses as this package uses them, made several times faster than the standard library makes them.

Import ``dataclass``, ``field`` and ``replace`` from here. A type checker sees those of the standard library and forbids
assignment to a frozen class; at run time nothing does. That makes both the classes and their instances cheap: a hundred
classes are made before the first line of a log is read, and a rule base has thousands of instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    def dataclass(*, slots: bool, frozen: bool = False) -> Callable[[type], type]:
        """Return a decorator that makes a class with fields: compared by them and, when frozen, hashed by them."""
        if not slots:
            raise TypeError("write slots=True: instances without slots take twice the memory")
        return lambda cls: _made(cls, frozen)

    def field(**said: Any) -> _Field:
        """Say more about a field: ``default`` or ``default_factory``, ``compare``, ``hash``."""
        return _Field(**said)

    def replace(value: Any, **changes: Any) -> Any:
        """Return a copy with other values in some fields."""
        kept = {name: getattr(value, name) for name in value.__match_args__ if name not in changes}
        return type(value)(**kept, **changes)


def field_names(value: object) -> tuple[str, ...]:
    """Return the fields of such an object in their order; () for anything else."""
    kind = type(value)
    return kind.__match_args__ if "__dataclass_fields__" in kind.__dict__ else ()  # type: ignore[attr-defined]


class _Missing:
    def __repr__(self) -> str:
        return "<default>"


_MISSING = _Missing()


class _Field:
    """What the body of a class says of one field."""

    __slots__ = ("compare", "default", "factory", "hash")

    def __init__(
        self,
        default: Any = _MISSING,
        default_factory: Callable[[], Any] | None = None,
        compare: bool = True,
        hash: bool = True,  # noqa: A002 - the standard library's word
        repr: bool = True,  # noqa: A002 - shown like the others
    ) -> None:
        self.default = default
        self.factory = default_factory
        self.compare = compare
        self.hash = hash and compare


class _Described:
    """The fields as ``dataclasses`` wants them for its ``fields``, ``asdict`` and ``replace``; made when it asks."""

    def __init__(self, fields: Mapping[str, _Field]) -> None:
        self._fields = fields
        self._standard: Any = None

    def __get__(self, _: object, owner: type) -> Any:
        if self._standard is None:
            self._standard = self._twin(owner).__dataclass_fields__
        return self._standard

    def _twin(self, owner: type) -> Any:
        import dataclasses

        def standard(one: _Field) -> Any:
            if one.factory is not None:
                return dataclasses.field(default_factory=one.factory, compare=one.compare)
            if one.default is not _MISSING:
                return dataclasses.field(default=one.default, compare=one.compare)
            return dataclasses.field(compare=one.compare)

        described = [(name, owner.__annotations__[name], standard(one)) for name, one in self._fields.items()]
        return dataclasses.make_dataclass(owner.__name__, described)


def _made(cls: type, frozen: bool) -> type:
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__}: a dataclass of this package has no base class")
    body = dict(cls.__dict__)
    fields: dict[str, _Field] = {}
    for name in body.get("__annotations__", ()):
        said = body.pop(name, _MISSING)
        fields[name] = said if isinstance(said, _Field) else _Field(said)
    del body["__dict__"], body["__weakref__"]
    names = tuple(fields)
    compared = _key([name for name, one in fields.items() if one.compare])
    hashed = _key([name for name, one in fields.items() if one.hash])

    def equal(self: Any, other: object) -> bool:
        return compared(self) == compared(other) if self.__class__ is other.__class__ else NotImplemented

    def digest(self: Any) -> int:
        return hash(hashed(self))

    body |= {"__slots__": names, "__match_args__": names, "__dataclass_fields__": _Described(fields)}
    body["__init__"] = _late(fields, "__post_init__" in body)
    body.setdefault("__eq__", equal)
    body.setdefault("__hash__", digest if frozen else None)
    body.setdefault("__repr__", _shown)
    return type(cls.__name__, (), body)


def _late(fields: Mapping[str, _Field], more: bool) -> Any:
    """Return an ``__init__`` that is written when the first instance is made: most classes have none in most runs."""

    def first(self: Any, *args: Any, **named: Any) -> None:
        made = type(self).__init__ = _initialiser(fields, more)
        made(self, *args, **named)

    return first


def _initialiser(fields: Mapping[str, _Field], more: bool) -> Any:
    """Write the ``__init__`` that one would write by hand: nothing else is as fast to call."""
    given, lines = ["self"], []
    scope: dict[str, Any] = {"MISSING": _MISSING}
    for name, one in fields.items():
        value = name
        if one.factory is not None:
            scope[f"make_{name}"] = one.factory
            given.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif one.default is not _MISSING:
            scope[f"usual_{name}"] = one.default
            given.append(f"{name}=usual_{name}")
        else:
            given.append(name)
        lines.append(f" self.{name} = {value}")
    if more:
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(given)}):\n" + ("\n".join(lines) or " pass"), scope)
    return scope["__init__"]


def _key(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return what gives the values of these fields as one value."""
    return attrgetter(*names) if names else lambda _: ()


def _shown(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__match_args__)})"
