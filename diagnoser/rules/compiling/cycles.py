"""Refuses rules that depend on themselves: symptoms in circles, and causes that would have to be false to be true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from diagnoser.rules.model import Node, Rule

#: Operators under which a name that becomes true can only help the whole to become true.
_MONOTONE = ("and", "or")


class Edge(NamedTuple):
    """One name depends on another; ``negative``: it may need the other to be false."""

    to: str
    negative: bool


def find_cycles(rules: Mapping[str, Rule], symptoms: Mapping[str, Node]) -> list[tuple[str, ...]]:
    """Return every group of names that depend on each other in a way that has no answer, each group sorted.

    Symptoms may not depend on each other in a circle at all. Causes may, as long as no `not` and no `unless` is part
    of the circle.
    """
    graph = {f"symptom {name}": list(_edges(node)) for name, node in symptoms.items()}
    for rule in rules.values():
        edges = [Edge(f"cause {other}", True) for other in rule.unless]
        graph[f"cause {rule.id}"] = [*edges, *_edges(rule.when)]
    bad = []
    for group in _components(graph):
        members = set(group)
        inside = [edge for name in group for edge in graph[name] if edge.to in members]
        if inside and (any(edge.negative for edge in inside) or any(name.startswith("symptom") for name in group)):
            bad.append(tuple(sorted(name.partition(" ")[2] for name in group)))
    return sorted(bad)


def _edges(node: Node, negative: bool = False) -> Iterator[Edge]:
    """Yield the symptoms and causes that an expression names."""
    if node.op in ("symptom", "cause"):
        yield Edge(f"{node.op} {node.args[0]}", negative)
        return
    for arg in node.args:
        if isinstance(arg, Node):
            yield from _edges(arg, negative or node.op not in _MONOTONE)


def _components(graph: Mapping[str, list[Edge]]) -> list[list[str]]:
    """Return the strongly connected parts (Tarjan), without recursion: a rule base may be deep."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    parts: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, edges = work[-1]
            step = next((edge.to for edge in edges if edge.to in graph and edge.to not in index), None)
            if step is None:
                work.pop()
                below = [low[edge.to] for edge in graph[name] if edge.to in on_stack]
                low[name] = min([low[name], *below])
                if low[name] == index[name]:
                    at = stack.index(name)
                    parts.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(graph[step])))
    return parts
