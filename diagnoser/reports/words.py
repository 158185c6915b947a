"""Words of the report's data as people read them in their language: states, levels, stages, changes of a flag."""

from __future__ import annotations

from diagnoser.language import Say, phrase

#: What the data holds is English in every language; a page says these.
WORDS = (
    *(phrase("critical"), phrase("warning"), phrase("info")),
    *(phrase("certain"), phrase("likely"), phrase("possible")),
    *(phrase("ingress"), phrase("scheduling"), phrase("memory"), phrase("cache")),
    *(phrase("compute"), phrase("comms"), phrase("output"), phrase("platform")),
    *(phrase("CAUSE"), phrase("cause"), phrase("suspect"), phrase("ok"), phrase("n/a")),
    *(phrase("pass"), phrase("FAIL"), phrase("fail"), phrase("unknown")),
    *(phrase("better"), phrase("worse"), phrase("mixed"), phrase("cannot tell"), phrase("higher"), phrase("lower")),
    *(phrase("gained"), phrase("lost"), phrase("severity"), phrase("remove"), phrase("unset"), phrase("default")),
    *(phrase("crash"), phrase("killed"), phrase("no difference shown")),
    *(phrase("experimental"), phrase("stable"), phrase("deprecated"), phrase("set"), phrase("raise")),
)

#: What stands between two texts.
JOINTS = (phrase(", "), phrase("; "), phrase("{one}: {other}"))

#: What stands in brackets behind a flag's value now.
_STATES = (" (set)", " (default)")


#: What stands for a value, of a flag now or to be; other words are values as the command line spells them.
_CHANGES = frozenset({"higher", "lower", "remove", "unset", "default", "on", "off"})


def proposed(value: str, say: Say) -> str:
    """Say what a flag should become: a value stays, "higher" and "remove" are words."""
    return say(value) if value in _CHANGES else value


def current(value: str, say: Say) -> str:
    """Say what a flag is: 256 (default), or 128 (256 set)."""
    for state in _STATES:
        if value.endswith(state):
            return f"{proposed(value.removesuffix(state), say)} ({say(state[2:-1])})"
    shown, bracket, asked = value.removesuffix(" set)").partition(" (")
    if bracket and value.endswith(" set)"):
        return say("{value} ({asked} set)").format(value=shown, asked=asked)
    return proposed(value, say)
