"""Dataclasses of our own behave as the standard library's do; they only take less time to make."""

from __future__ import annotations

import copy
import dataclasses
import re
from typing import Any

import pytest

from diagnoser import values
from diagnoser.listing import modules
from diagnoser.patterns import lazily


@values.dataclass(slots=True, frozen=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: list[str] = values.field(default_factory=list, hash=False)
    note: str = values.field(default="", compare=False)

    KEPT = 3

    @property
    def sum(self) -> int:
        return self.x + self.y


@values.dataclass(slots=True)
class Loose:
    limit: float

    def __post_init__(self) -> None:
        self.limit = min(self.limit, 1.0)


@values.dataclass(slots=True, frozen=True)
class Empty:
    """Nothing in it."""


def test_makes_instances() -> None:
    assert (Point(1).x, Point(1).y, Point(1).sum, Point.KEPT) == (1, 2, 3, 3)
    assert Point(1).tags == [] and Point(1).tags is not Point(1).tags
    assert Point(1, note="a", tags=["b"]).tags == ["b"]
    assert Loose(2.0).limit == 1.0
    assert not hasattr(Point(1), "__dict__")
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point(1, z=2)  # type: ignore[call-arg]


def test_compares_and_hashes_by_fields() -> None:
    assert Point(1) == Point(1, note="not compared") != Point(2)
    assert Point(1, tags=["a"]) != Point(1)
    assert hash(Point(1, tags=["a"])) == hash(Point(1)) and len({Point(1), Point(1), Point(2)}) == 2
    assert Empty() == Empty() and hash(Empty()) == hash(Empty())
    assert Point(1) != Empty()
    with pytest.raises(TypeError):
        hash(Loose(1.0))
    assert repr(Point(1)) == "Point(x=1, y=2, tags=[], note='')"


def test_copies_and_matches() -> None:
    changed = values.replace(Point(1, tags=["a"]), y=5)
    assert (changed.x, changed.y, changed.tags) == (1, 5, ["a"])
    assert copy.deepcopy(changed) == changed
    match changed:
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_the_standard_library_knows_them() -> None:
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "tags": [], "note": ""}
    assert dataclasses.replace(Point(1), y=4) == Point(1, 4)
    x, y, tags, note = dataclasses.fields(Point)
    assert (x.name, x.default, y.default, note.compare) == ("x", dataclasses.MISSING, 2, False)
    assert tags.default_factory is list
    assert values.field_names(Point(1)) == ("x", "y", "tags", "note")
    assert values.field_names(Point) == values.field_names("text") == ()


def test_refuses_what_it_does_not_do() -> None:
    untyped: Any = values.dataclass
    with pytest.raises(TypeError):
        untyped(slots=False)
    with pytest.raises(TypeError):

        @values.dataclass(slots=True)
        class Below(Point):
            z: int = 0


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    found = lazily(r"(\d+) (a|b)", 0)
    broken = lazily("(")
    assert found.fullmatch("12 b") and found.groups == 2
    assert found.sub("x", "12 a, 3 b") == "x, x"
    with pytest.raises(re.error):
        broken.search("")


def test_lists_modules(tmp_path: Any) -> None:
    for name in ("b.py", "a.py", "__init__.py", "data.json", "no-module.py", "c.cpython-311.so"):
        (tmp_path / name).touch()
    for name in ("package", "__pycache__", ".hidden"):
        (tmp_path / name).mkdir()
    assert modules([str(tmp_path)]) == ["a", "b", "package"]
