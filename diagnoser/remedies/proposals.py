"""One remedy of a rule against one run: advice with values, or nothing when it does not apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diagnoser.contracts.findings import Advice
from diagnoser.knowledge.versions import range_text
from diagnoser.knowledge.vocabulary import TITLES, Knob
from diagnoser.remedies.context import Context, Setting, same, setting, shown
from diagnoser.remedies.switches import switched
from diagnoser.remedies.unnamed import said_range, without_engine
from diagnoser.remedies.values import accepts, is_whole, rounded, stepped
from diagnoser.rules.model import Remedy, Rule
from diagnoser.values import dataclass


@dataclass(slots=True)
class Proposal:
    """Advice and what it does to a command line.

    ``subject`` is what it moves ("" for an action), ``direction`` 1 up or on, -1 down or off, 0 neither. ``remove`` and
    ``add`` are words of the command line, ``env`` is ``NAME=value``; all empty when there is no value to try. ``cures``
    is false for a change that only makes the trouble show later.
    """

    advice: Advice
    subject: str = ""
    direction: int = 0
    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    env: str = ""
    cures: bool = True

    @property
    def is_experiment(self) -> bool:
        """Whether it says exactly what to type, and typing it can prove something."""
        return self.cures and bool(self.add or self.remove or self.env)


def proposals(rule: Rule, context: Context) -> list[Proposal]:
    """Return what the rule advises for this run, in its order, at most one per knob.

    Dropped: a condition that is not true, another engine, a flag or variable that the version does not have, a value
    that is already set, that the flag does not take or that moves the knob the wrong way.
    """
    found: dict[str, Proposal] = {}
    for number, remedy in enumerate(rule.remedies):
        for proposal in _judged(remedy, context):
            found.setdefault(proposal.subject or f"action {number}", proposal)
    return list(found.values())


def _judged(remedy: Remedy, context: Context) -> Iterator[Proposal]:
    if remedy.engines and context.engine and context.engine not in remedy.engines:
        return
    if remedy.condition is not None and context.judge.result(remedy.condition).value is not True:
        return
    made: Proposal | None
    if remedy.action:
        made = Proposal(Advice(None, None, context.render(remedy.action), None, None, *_words(remedy, context)))
    elif not context.engine:
        advice = without_engine(remedy, context, *_words(remedy, context))
        made = Proposal(advice) if advice else None
    elif remedy.env:
        made = _variable(remedy, context)
    else:
        made = _flag(remedy, context)
    if made is not None:
        made.cures = remedy.experiment
        yield made


def _words(remedy: Remedy, context: Context) -> tuple[str, str]:
    return context.render(remedy.text), context.render(remedy.tradeoff)


def _flag(remedy: Remedy, context: Context) -> Proposal | None:
    knob = context.vocabulary.knobs.get(remedy.knob) if remedy.knob else None
    names = knob.flags.get(context.engine, ()) if knob else tuple(dict(remedy.flag).get(context.engine, "").split())
    spelling = context.catalog.spelling(context.engine, _printed(names, context), context.version)
    flag = context.catalog.flag(context.engine, spelling.flag) if spelling else None
    if spelling is None or flag is None:
        return None
    now = setting(context, flag)
    subject = f"{context.engine} {flag.name}"
    text, tradeoff = _words(remedy, context)
    if not spelling.certain:
        text = _with_versions(text, spelling.versions, context)
    wanted = None if remedy.to is None else context.judge.result(remedy.to).value
    if flag.is_switch or remedy.by == "remove" or isinstance(wanted, bool):
        # A knob that one engine enables and the other disables means the thing itself, not the flag.
        turned = knob is not None and _disables(knob, context.engine)
        switch = switched(context, flag, spelling.flag, now, remedy.by, wanted, turned)
        if switch is None:
            return None
        advice = Advice(switch.flag, None, None, now.text, switch.proposed, text, tradeoff)
        return Proposal(advice, subject, switch.direction, switch.remove, switch.add)
    value = _value(remedy, wanted, now, is_whole(flag, now.value))
    if value is None:
        if remedy.by not in ("raise", "lower") or _is_number(now.value):
            return None  # nothing to say, or at the end of its range
        word, up = ("higher", 1) if remedy.by == "raise" else ("lower", -1)
        return Proposal(Advice(spelling.flag, None, None, now.text, word, text, tradeoff), subject, up)
    if now.value is not None and same(now.value, value):
        return None
    direction = _direction(now, value)
    if (remedy.by, direction) in (("raise", -1), ("lower", 1)):
        return None
    if isinstance(value, str) and not accepts(context.catalog, context.engine, flag, context.version, value):
        return None
    remove = (spelling.flag, shown(now.asked or now.value)) if now.state == "set" else ()
    advice = Advice(spelling.flag, None, None, now.text, shown(value), text, tradeoff)
    return Proposal(advice, subject, direction, remove, (spelling.flag, shown(value)))


def _printed(names: Sequence[str], context: Context) -> Sequence[str]:
    """Of a flag's names those that the server's own arguments go by, where no version tells which one it takes."""
    if context.version:
        return names
    return [name for name in names if name.lstrip("-").replace("-", "_") in context.run.arguments] or names


def _value(remedy: Remedy, wanted: Any, now: Setting, whole: bool) -> Any:
    """Compute the new value; None when there is none."""
    if remedy.to is not None:
        if _is_number(wanted):
            value = rounded(wanted, whole, remedy.to)
            return value if value > 0 or remedy.to.op == "number" else None
        return wanted if isinstance(wanted, str) and wanted else None
    return stepped(now.value, remedy.by, whole) if remedy.by in ("raise", "lower") else None


def _direction(now: Setting, value: Any) -> int:
    if not _is_number(now.value) or not _is_number(value):
        return 0
    return 1 if value > now.value else -1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _disables(knob: Knob, engine: str) -> bool:
    def begins(flags: tuple[str, ...], word: str) -> bool:
        return bool(flags) and all(flag.startswith(word) for flag in flags)

    others = [flags for name, flags in knob.flags.items() if name != engine]
    return begins(knob.flags.get(engine, ()), "--disable-") and any(begins(flags, "--enable-") for flags in others)


def _variable(remedy: Remedy, context: Context) -> Proposal | None:
    name = dict(remedy.env).get(context.engine, "")
    known = context.catalog.env(context.engine, name)
    # Variables of libraries (NCCL_, PYTORCH_ …) are in no engine's catalogue; the engine's own must be.
    if not name or (known is None and name.startswith(("VLLM_", "SGLANG_", "SGL_"))):
        return None
    has = context.catalog.has_env(context.engine, name, context.version)
    if known is not None and has is False:
        return None
    text, tradeoff = _words(remedy, context)
    versions = context.catalog.version_list(context.engine)
    if known is not None and has is None and versions is not None:
        text = _with_versions(text, range_text(versions, known.first, known.last), context)
    subject = f"{context.engine} {name}"
    if remedy.by == "remove":
        return Proposal(Advice(None, name, None, None, "unset", text, tradeoff), subject, -1)
    wanted = None if remedy.to is None else context.judge.result(remedy.to).value
    if not isinstance(wanted, str | int | float):
        return None
    # Sizes in bytes are whole numbers of ten digits.
    whole = isinstance(wanted, bool) or (isinstance(wanted, float) and wanted.is_integer())
    value = str(int(wanted)) if whole else shown(wanted)
    return Proposal(Advice(None, name, None, None, value, text, tradeoff), subject, env=f"{name}={value}")


def _with_versions(text: str, versions: str, context: Context) -> str:
    """Say for which versions something is when the version at hand is not known."""
    if not versions:
        return text
    note = f"{TITLES.get(context.engine, context.engine)} {said_range(versions, context.say)}"
    return f"{text} ({note})" if text else note
