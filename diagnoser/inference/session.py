"""One run of durable-rules: clauses and facts in, derived facts out, nothing left behind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from diagnoser.inference.branches import Clause
from diagnoser.inference.problem import InferenceError

_RULESET = "diagnoser"
_SID = "0"  # durable-rules keeps facts per "sid"; this is the one it uses when none is given

#: A literal and the world it holds in.
Atom = tuple[str, str]


def run(clauses: Iterable[Clause], facts: Iterable[Atom]) -> set[Atom]:
    """Derive everything that follows. Raises InferenceError when the package is missing or cannot be trusted."""
    engine, core = _modules()
    asserted = [{"name": name, "world": world} for name, world in facts]
    if not asserted:
        # Every clause needs something, so nothing follows; and a state that was never made cannot be deleted.
        return set()
    derived: list[Atom] = []
    errors: list[BaseException] = []
    definition: dict[str, Any] = {
        f"r{number}": _rule(clause, derived, errors, engine.MessageObservedException)
        for number, clause in enumerate(clauses)
    }
    # A fact that no rule listens to is an error inside the action that asserts it, so something always listens.
    definition["sink"] = {"all": [{"m": {"$ex": {"world": 1}}}], "pri": 1000, "run": lambda _: None}
    # The stock host starts timer threads without end; this one does not.
    host = type("Host", (engine.Host,), {"_run": lambda _: None})()
    try:
        host.register_rulesets({_RULESET: definition})
        host.assert_facts(_RULESET, asserted)
        _verify(host, errors, len(asserted) + len(set(derived)))
    except InferenceError:
        raise
    except Exception as error:
        # Errors of the package are numbers or the message itself: say at least where they came from.
        raise InferenceError(f"durable-rules failed: {type(error).__name__} {error}") from error
    finally:
        _forget(host, core)
    return set(derived)


def _modules() -> tuple[Any, Any]:
    try:
        return importlib.import_module("durable.engine"), importlib.import_module("durable_rules_engine")
    except ImportError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise InferenceError(
            "the durable back end needs durable-rules: pip install 'diagnoser[durable]' (Python 3.11 or 3.12 and a C "
            f"compiler; this is Python {version}). The plain back end gives the same causes ({error})"
        ) from error


def _rule(clause: Clause, derived: list[Atom], errors: list[BaseException], seen: type[Exception]) -> dict[str, Any]:
    first, *others = clause.body
    terms: list[dict[str, Any]] = [{"m0": {"name": first}}]
    for number, name in enumerate(others, 1):
        terms.append({f"m{number}": {"$and": [{"name": name}, {"world": {"m0": "world"}}]}})
    return {"all": terms, "run": _action(clause.head, derived, errors, seen)}


def _action(
    head: str, derived: list[Atom], errors: list[BaseException], seen: type[Exception]
) -> Callable[[Any], None]:
    # Exactly one parameter: a second one, even with a default, would make it asynchronous.
    def action(closure: Any) -> None:
        try:
            world = closure.m0.world
            derived.append((head, world))
            closure.assert_fact({"name": head, "world": world})
        except seen:
            pass  # another branch was first
        except BaseException as error:
            # The package would swallow it, an interrupt included.
            errors.append(error)

    return action


def _verify(host: Any, errors: list[BaseException], expected: int) -> None:
    if errors:
        if not isinstance(errors[0], Exception):
            raise errors[0]
        raise InferenceError(f"durable-rules failed inside a rule: {errors[0]!r}") from errors[0]
    state = host.get_state(_RULESET)
    if "exception" in state:
        raise InferenceError(f"durable-rules failed inside a rule: {state['exception']}")
    # Facts are told apart by a 32 bit hash: a collision loses one in silence.
    stored = len(host.get_facts(_RULESET))
    if stored != expected:
        raise InferenceError(f"durable-rules holds {stored} facts, {expected} were asserted: use the plain back end")


def _forget(host: Any, core: Any) -> None:
    """Free what the C side holds; without the state first, each run leaves megabytes behind."""
    if not host._ruleset_directory:
        return
    try:
        host.delete_state(_RULESET, _SID)
    finally:
        core.delete_ruleset(host.get_ruleset(_RULESET)._handle)
