"""The answer: better or worse, whether the load was the same, and whether the change has one cause."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.contracts.comparison import Difference, FigureChange, FindingChange
from diagnoser.language import ENGLISH, Say, phrase

#: Figures of the outcome, the most telling first; the others are means to it or follow from it.
OUTCOMES = ("gen.tps", "latency.", "preemptions", "requests.waiting", "requests.swapped", "requests.deferred")


#: A mix of requests or a rate of arrivals that differs by more than this is another load.
SAME_LOAD = 0.15
#: Fewer waiting requests than this: the server kept up with what came.
_KEPT_UP = 0.5
_BOTH, _BEFORE, _AFTER = phrase("both sides"), phrase("the side before"), phrase("the side after")


def kept_up(figures: Sequence[FigureChange]) -> bool:
    """Whether nothing waited on either side, so that tokens/s tell what was asked for."""
    waiting = [one for one in figures if one.name == "requests.waiting"]
    return any(
        one.before is not None and one.after is not None and max(one.before, one.after) < _KEPT_UP for one in waiting
    )


def load(figures: Sequence[FigureChange], say: Say = ENGLISH) -> tuple[str, str]:
    """Return ("same" | "differs" | "unknown", a sentence).

    Lengths of requests are load and nothing else. Tokens/s are load and outcome at once: output tokens for each prompt
    token tell the mix, whatever the speed; while nothing waits on either side, tokens/s are what was asked for.
    """
    known = {one.name: one for one in figures if one.before is not None and one.after is not None}
    for one in known.values():
        if one.name.startswith("request.") and one.state in ("higher", "lower") and _far(one):
            told = say("{title} {before} before, {after} after: other requests")
            return "differs", told.format(title=one.title, before=f"{one.before:,.4g}", after=f"{one.after:,.4g}")
    prompt, output = known.get("prompt.tps"), known.get("gen.tps")
    if output is None:
        return "unknown", say("no token rates on both sides: nothing shows that the load was the same")
    if prompt is not None and prompt.before and prompt.after and output.before and output.after:
        old, new = output.before / prompt.before, output.after / prompt.after
        # Throughput that the batch line takes over bursts wanders; half the size of the change must be shown.
        shown = "unknown" not in (prompt.state, output.state) and {prompt.state, output.state} != {"same"}
        if shown and abs(new - old) > SAME_LOAD * old:
            told = say("output tokens for each prompt token {before} before, {after} after: another mix")
            return "differs", told.format(before=f"{old:.2g}", after=f"{new:.2g}")
    if kept_up(figures):
        for rate in (prompt, output):
            if rate is not None and rate.state in ("higher", "lower") and _far(rate):
                told = say("{title} tok/s {change} while nothing waited: other arrivals")
                return "differs", told.format(title=rate.title, change=f"{rate.change:+.0%}")
        return "same", say("nothing waited on either side: tokens/s are what was asked for, not what the server can do")
    moved = next((one for one in (prompt, output) if one and one.state == "unknown" and _far(one)), None)
    if moved is not None:
        told = say("{title} tok/s {change}, too uncertain to tell load from speed")
        return "unknown", told.format(title=moved.title, change=f"{moved.change:+.0%}")
    if prompt is None:
        return "unknown", say("no prompt token rate on both sides: nothing shows that the load was the same")
    return "same", say("nothing in the token rates speaks against the same load; arrivals are not in the input")


def _far(one: FigureChange) -> bool:
    return abs(one.change or 0) > SAME_LOAD


def judge(
    figures: Sequence[FigureChange],
    findings: Sequence[FindingChange],
    ends: tuple[str, str],
    same_load: str,
    say: Say = ENGLISH,
) -> tuple[str, str]:
    """Return the verdict and by what."""
    broken = ("crash", "killed")
    gained = [one for one in findings if one.after == "critical" and one.before != "critical"]
    lost = [one for one in findings if one.before == "critical" and one.after != "critical"]
    worse = [say("critical finding {rule}").format(rule=one.id) for one in gained]
    better = [say("critical finding {rule} gone").format(rule=one.id) for one in lost]
    if ends[1] in broken and ends[0] not in broken:
        worse.insert(0, say("the server ended by {end}").format(end=say(ends[1])))
    elif ends[0] in broken and ends[1] not in broken:
        better.insert(0, say("before, the server ended by {end}").format(end=say(ends[0])))
    told = [one for prefix in OUTCOMES for one in figures if one.name.startswith(prefix)]
    asked_for = [one for one in told if one.name == "gen.tps" and one.state != "same" and kept_up(figures)]
    told = [one for one in told if one not in asked_for]
    if same_load != "differs":
        worse += [_said(one, say) for one in told if one.means == "worse"]
        better += [_said(one, say) for one in told if one.means == "better"]
    if worse and better:
        told_both = say("worse: {worse}; better: {better}")
        return "mixed", told_both.format(worse=_joined(worse, say), better=_joined(better, say))
    if worse or better:
        return ("worse" if worse else "better"), _joined(worse or better, say)
    if same_load == "differs":
        return "cannot tell", say("the load differs")
    undecided = [one for one in told if one.state == "unknown"]
    decided = [one for one in told if one.state != "unknown"]
    # A queue that stayed the same does not stand for throughput that nobody could judge.
    if not any(one.name.startswith(OUTCOMES[:2]) for one in decided):
        if asked_for and not undecided:
            why = say("nothing waited on either side, so that only latencies could tell, and none are given")
        elif undecided:
            why = say.pair(undecided[0].title, undecided[0].reason)
        else:
            why = say("no figure is on both sides")
        return "cannot tell", why
    return "no difference shown", say("in {names}").format(names=say(", ").join(one.title for one in decided[:4]))


def _said(one: FigureChange, say: Say) -> str:
    if one.change is not None:
        return f"{one.title} {one.change:+.0%}"
    return f"{one.title} {say(one.state)}"


def _joined(texts: list[str], say: Say) -> str:
    told, rest = say(", ").join(texts[:3]), len(texts) - 3
    return say("{names} and {count} more").format(names=told, count=rest) if rest > 0 else told


def attribute(
    configuration: Sequence[Difference], seen: tuple[bool, bool], load_state: str, say: Say = ENGLISH
) -> tuple[str, str]:
    """Say whether what changed has one cause, and which."""
    changed = [one for one in configuration if one.kind == "parameter"]
    names = ", ".join(one.name for one in changed[:5])
    if len(changed) > 5:
        names = say("{names} and more").format(names=names)
    if len(changed) > 1:
        told = say("cannot be attributed: {count} parameters differ ({names})")
        return "not attributable", told.format(count=len(changed), names=names)
    if load_state == "differs":
        told = say("cannot be attributed: the load differs")
        also = say(", and {names} differs too").format(names=names) if changed else ""
        return "not attributable", told + also
    if any(one.name == "engine" for one in changed):
        told = say("cannot be attributed: another engine ({change}) differs in everything")
        return "not attributable", told.format(change=_move(changed[0], say))
    if not all(seen):
        which = _BOTH if not any(seen) else _BEFORE if not seen[0] else _AFTER
        told = say("cannot be attributed: the arguments of {side} are not in the input").format(side=say(which))
        also = say("; {change} is seen to differ").format(change=_move(changed[0], say)) if changed else ""
        return "not attributable", told + also
    if changed:
        told = say("attributable to {change}, if the load and the machine were the same")
        return "attributable", told.format(change=_move(changed[0], say))
    return "nothing differs", say("no parameter differs: a difference comes from the load, the machine or chance")


def _move(one: Difference, say: Say) -> str:
    """--max-num-seqs 256 -> 160."""
    old, new = ((say("not set") if value is None else _short(value)) for value in (one.before, one.after))
    return f"{one.name} {old} -> {new}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"
