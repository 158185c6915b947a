"""Arguments and facts of a run, read from the engine's own dumps and from events that set them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Event, Fact, Record, Run
from diagnoser.values import replace

#: How much a dump is trusted where two of them name one argument: a resolved configuration beats what was asked for.
_TRUST = {"engine_config": 2, "server_args": 1, "namespace": 1, "non_default_args": 1}

_STATES = {"non_default_args": "set", "server_args": "printed", "namespace": "printed", "router_args": "printed"}

#: Whose dump it is, by its kind.
_PRINTERS = {"server_args": "sglang", "engine_config": "vllm", "non_default_args": "vllm", "namespace": "vllm"}

#: No release has a tenth of it.
MOST_ARGUMENTS = 4096

#: Characters of the dump shown around one argument.
_MARGIN = 36


#: Evaluates an expression over an event's fields (``rules.fields.evaluate_fields``).
Compute = Callable[[Any, Mapping[str, Any], Run], Any]


class Dump(Protocol):
    """What a dialect's dump parser gives (``formats/pyrepr.py``)."""

    @property
    def kind(self) -> str: ...  # noqa: D102

    @property
    def values(self) -> Mapping[str, Any]: ...  # noqa: D102


def excerpt(text: str, start: int, end: int) -> str:
    """Cut a long dump down to the part around one argument."""
    left = max(0, start - _MARGIN)
    right = min(len(text), end + _MARGIN)
    piece = text[left:right].replace("\n", " ")
    return f"{'… ' if left else ''}{piece}{' …' if right < len(text) else ''}"


def read_dump(run: Run, record: Record, dump: Dump, vocabulary: Vocabulary) -> None:
    """Add every argument of a dump to ``run.arguments`` and the facts that the vocabulary reads from them.

    Dumps that print every argument leave open which were set: their state is "printed" until ``settle`` compares them
    with the defaults of the version, which is often known only at the end of the start-up.
    """
    trust = _TRUST.get(dump.kind, 0)
    state = _STATES.get(dump.kind, "observed")
    # Without a prefix (SGLang to 0.2) the dump itself may be the first line, before anything names the engine.
    wanted = vocabulary.arg_map(run.engine or _PRINTERS.get(dump.kind, ""))
    for name, part in dump.values.items():
        known = run.arguments.get(name)
        # Parsing a nested value costs far more than the rest of the dump: only values that become facts are worth it.
        nested = part.raw[:1] in "[{(<" or "(" in part.raw[:60]
        value = part.raw if nested and name not in wanted else part.value
        fact = Fact(name, value, record.origin, excerpt(record.text, part.start, part.end), state)
        # What the operator asked for stays the argument; a resolved configuration only fills what was not asked.
        if known is None or trust <= _TRUST["non_default_args"]:
            if known is None and len(run.arguments) >= MOST_ARGUMENTS:
                continue
            run.arguments[name] = fact
        for fact_name in wanted.get(name, ()):
            set_fact(run, fact_name, fact, resolved=trust > 1)


def settle(run: Run, default_of: Callable[[str], Any], unresolved: object) -> None:
    """Tell "set" from "default" in dumps that print everything, now that the version is known.

    ``default_of(argument)`` is the version's default, ``unresolved`` where the engine computes it at start: a printed
    value may then be either, and stays "observed".
    """
    for name, fact in run.arguments.items():
        if fact.state not in ("printed", "observed"):
            continue
        default = default_of(name)
        state = "observed"
        if default is not unresolved and (default is not None or fact.value is None):
            state = "default" if str(fact.value) == str(default) else "set" if fact.state == "printed" else "observed"
        run.arguments[name] = replace(fact, state=state)
    settled = {(fact.origin, fact.excerpt): fact.state for fact in run.arguments.values()}
    for name, fact in run.facts.items():
        if (fact.origin, fact.excerpt) in settled:
            run.facts[name] = replace(fact, state=settled[fact.origin, fact.excerpt])


def set_fact(run: Run, name: str, fact: Fact, resolved: bool = False) -> None:
    """Give a run a fact. None and "auto" never replace a value; a resolved value replaces a requested one."""
    known = run.facts.get(name)
    if fact.value is None or (fact.value == "auto" and known is not None):
        return
    if known is not None and not resolved and known.state in ("set", "printed"):
        return
    kept = known is not None and known.value == fact.value and known.state in ("set", "printed")
    state = known.state if known is not None and kept else fact.state
    run.facts[name] = Fact(name, fact.value, fact.origin, fact.excerpt, state)


def apply_event(run: Run, event: Event, sets: tuple[tuple[str, Any], ...], compute: Compute) -> None:
    """Set the facts that an event's template names: from a field, or from an expression over fields.

    The first printed outcome counts; it beats the argument that it came from (a reduced limit, a chosen backend).
    """
    for name, source in sets:
        value = event.fields.get(source) if isinstance(source, str) else compute(source, event.fields, run)
        known = run.facts.get(name)
        if isinstance(value, int | float | str) and (known is None or known.state != "observed"):
            run.facts[name] = Fact(name, value, event.origin, event.text.split("\n", 1)[0][:300], "observed")
