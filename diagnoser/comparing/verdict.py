"""The answer: better or worse, whether the load was the same, and whether the change has one cause."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.comparison import Difference, FigureChange, FindingChange

#: Figures of the outcome, the most telling first; the others are means to it or follow from it.
OUTCOMES = ("gen.tps", "latency.", "preemptions", "requests.waiting", "requests.swapped", "requests.deferred")


#: A mix of requests or a rate of arrivals that differs by more than this is another load.
SAME_LOAD = 0.15
#: Fewer waiting requests than this: the server kept up with what came.
_KEPT_UP = 0.5


def kept_up(figures: Sequence[FigureChange]) -> bool:
    """Whether nothing waited on either side, so that tokens/s tell what was asked for."""
    waiting = [one for one in figures if one.name == "requests.waiting"]
    return any(
        one.before is not None and one.after is not None and max(one.before, one.after) < _KEPT_UP for one in waiting
    )


def load(figures: Sequence[FigureChange]) -> tuple[str, str]:
    """Return ("same" | "differs" | "unknown", a sentence).

    Lengths of requests are load and nothing else. Tokens/s are load and outcome at once: output tokens for each prompt
    token tell the mix, whatever the speed; while nothing waits on either side, tokens/s are what was asked for.
    """
    known = {one.name: one for one in figures if one.before is not None and one.after is not None}
    for one in known.values():
        if one.name.startswith("request.") and one.state in ("higher", "lower") and _far(one):
            return "differs", f"{one.title} {one.before:,.4g} before, {one.after:,.4g} after: other requests"
    prompt, output = known.get("prompt.tps"), known.get("gen.tps")
    if output is None:
        return "unknown", "no token rates on both sides: nothing shows that the load was the same"
    if prompt is not None and prompt.before and prompt.after and output.before and output.after:
        old, new = output.before / prompt.before, output.after / prompt.after
        # Throughput that the batch line takes over bursts wanders; half the size of the change must be shown.
        shown = "unknown" not in (prompt.state, output.state) and {prompt.state, output.state} != {"same"}
        if shown and abs(new - old) > SAME_LOAD * old:
            return "differs", f"output tokens for each prompt token {old:.2g} before, {new:.2g} after: another mix"
    if kept_up(figures):
        for rate in (prompt, output):
            if rate is not None and rate.state in ("higher", "lower") and _far(rate):
                return "differs", f"{rate.title} tok/s {rate.change:+.0%} while nothing waited: other arrivals"
        return "same", "nothing waited on either side: tokens/s are what was asked for, not what the server can do"
    moved = next((one for one in (prompt, output) if one and one.state == "unknown" and _far(one)), None)
    if moved is not None:
        return "unknown", f"{moved.title} tok/s {moved.change:+.0%}, too uncertain to tell load from speed"
    if prompt is None:
        return "unknown", "no prompt token rate on both sides: nothing shows that the load was the same"
    return "same", "nothing in the token rates speaks against the same load; arrivals are not in the input"


def _far(one: FigureChange) -> bool:
    return abs(one.change or 0) > SAME_LOAD


def judge(
    figures: Sequence[FigureChange], findings: Sequence[FindingChange], ends: tuple[str, str], same_load: str
) -> tuple[str, str]:
    """Return the verdict and by what."""
    broken = ("crash", "killed")
    gained = [one for one in findings if one.after == "critical" and one.before != "critical"]
    lost = [one for one in findings if one.before == "critical" and one.after != "critical"]
    worse = [f"critical finding {one.id}" for one in gained]
    better = [f"critical finding {one.id} gone" for one in lost]
    if ends[1] in broken and ends[0] not in broken:
        worse.insert(0, f"the server ended by {ends[1]}")
    elif ends[0] in broken and ends[1] not in broken:
        better.insert(0, f"before, the server ended by {ends[0]}")
    told = [one for prefix in OUTCOMES for one in figures if one.name.startswith(prefix)]
    asked_for = [one for one in told if one.name == "gen.tps" and one.state != "same" and kept_up(figures)]
    told = [one for one in told if one not in asked_for]
    if same_load != "differs":
        worse += [_said(one) for one in told if one.means == "worse"]
        better += [_said(one) for one in told if one.means == "better"]
    if worse and better:
        return "mixed", f"worse: {_joined(worse)}; better: {_joined(better)}"
    if worse or better:
        return ("worse" if worse else "better"), _joined(worse or better)
    if same_load == "differs":
        return "cannot tell", "the load differs"
    undecided = [one for one in told if one.state == "unknown"]
    decided = [one for one in told if one.state != "unknown"]
    # A queue that stayed the same does not stand for throughput that nobody could judge.
    if not any(one.name.startswith(OUTCOMES[:2]) for one in decided):
        if asked_for and not undecided:
            return "cannot tell", "nothing waited on either side, so that only latencies could tell, and none are given"
        why = f"{undecided[0].title}: {undecided[0].reason}" if undecided else "no figure is on both sides"
        return "cannot tell", why
    return "no difference shown", f"in {', '.join(one.title for one in decided[:4])}"


def _said(one: FigureChange) -> str:
    if one.change is not None:
        return f"{one.title} {one.change:+.0%}"
    return f"{one.title} {one.state}"


def _joined(texts: list[str]) -> str:
    rest = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + rest


def attribute(configuration: Sequence[Difference], seen: tuple[bool, bool], load_state: str) -> tuple[str, str]:
    """Say whether what changed has one cause, and which."""
    changed = [one for one in configuration if one.kind == "parameter"]
    names = ", ".join(one.name for one in changed[:5]) + (" and more" if len(changed) > 5 else "")
    if len(changed) > 1:
        return "not attributable", f"cannot be attributed: {len(changed)} parameters differ ({names})"
    if load_state == "differs":
        also = f", and {names} differs too" if changed else ""
        return "not attributable", f"cannot be attributed: the load differs{also}"
    if any(one.name == "engine" for one in changed):
        return "not attributable", f"cannot be attributed: another engine ({_move(changed[0])}) differs in everything"
    if not all(seen):
        which = "both sides" if not any(seen) else "the side " + ("before" if not seen[0] else "after")
        also = f"; {_move(changed[0])} is seen to differ" if changed else ""
        return "not attributable", f"cannot be attributed: the arguments of {which} are not in the input{also}"
    if changed:
        return "attributable", f"attributable to {_move(changed[0])}, if the load and the machine were the same"
    return "nothing differs", "no parameter differs: a difference comes from the load, the machine or chance"


def _move(one: Difference) -> str:
    """--max-num-seqs 256 -> 160."""
    old, new = (("not set" if value is None else _short(value)) for value in (one.before, one.after))
    return f"{one.name} {old} -> {new}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"
