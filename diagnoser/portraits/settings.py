"""What a run was set to: its arguments that are not known to be defaults, with their flags and the facts they make."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.figurerows import Setting
from diagnoser.knowledge.catalog import Catalog
from diagnoser.knowledge.vocabulary import ENGINES, Vocabulary
from diagnoser.model import Run
from diagnoser.patterns import lazily

#: A configuration file pasted into a flag is not repeated in the report.
LONGEST = 200
MOST = 400

#: Values of these never leave the log.
_SECRET = lazily(r"(?:^|_)(?:keys?|token|secret|passw(?:or)?d|credentials?|headers?)$")
_STATES = ("set", "observed", "printed")


def settings(run: Run, catalog: Catalog, vocabulary: Vocabulary) -> dict[str, Setting]:
    """Return the arguments by name; defaults are left out where the version's defaults are known."""
    wanted = vocabulary.arg_map(run.engine)
    out: dict[str, Setting] = {}
    for name, fact in sorted(run.arguments.items()):
        if fact.state not in _STATES or len(out) >= MOST:
            continue
        flag = catalog.flag_for_dest(run.engine, name, run.version or None) if run.engine in ENGINES else None
        state = "set" if fact.state == "set" else "observed"
        facts = [known for known in wanted.get(name, ()) if known in run.facts]
        out[name] = Setting(flag.name if flag else "", _value(name, fact.value), state, facts)
    return out


def _value(name: str, value: Any) -> Any:
    if _SECRET.search(name) and value is not None and value is not False:
        return "***"
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
