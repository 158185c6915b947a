"""One cause in one run, as ranking takes it, and how sure one may be of it."""

from __future__ import annotations

from collections.abc import Callable

from diagnoser.contracts.findings import Evidence
from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.rules.model import CONFIDENCES, Node, Rule
from diagnoser.values import dataclass, field

#: Fewer rows than this behind a condition over samples prove little.
FEW_SAMPLES = 5

#: Seconds of a unit of time -> its plural and its singular, and a part of a loaded stretch.
_SPANS = {
    3600.0: (phrase("{count} hours"), phrase("{count} hour")),
    60.0: (phrase("{count} minutes"), phrase("{count} minute")),
    1.0: (phrase("{count} seconds"), phrase("{count} second")),
}
_PARTS = {
    3600.0: phrase("{part} of {whole} loaded hours"),
    60.0: phrase("{part} of {whole} loaded minutes"),
    1.0: phrase("{part} of {whole} loaded seconds"),
}


@dataclass(slots=True, frozen=True)
class Window:
    """When a cause was seen.

    ``start`` and ``end`` are times as people read them, None where the log has none. ``seconds`` is how long it held,
    ``loaded`` how long the run was under load (0: not known). ``samples`` counts the rows behind its conditions over
    samples, None when it rests on events or facts alone; ``events`` counts the messages that prove it. ``bounds`` are
    start and end in seconds of the log's own clock.
    """

    start: str | None = None
    end: str | None = None
    seconds: float = 0.0
    loaded: float = 0.0
    samples: int | None = None
    events: int = 0
    bounds: tuple[float, float] | None = None


@dataclass(slots=True)
class Sighting:
    """A cause that holds in one run.

    ``onset`` places its first proof within the run, by line (``Run.place``). ``crash``: the run died of an error that
    this cause explains.
    ``supports`` counts the supporting conditions that are true, ``kinds`` names the kinds of input behind the proofs
    (table.MEDIA). Texts are rendered; empty ones are taken from the rule as they
    stand.
    """

    rule: Rule
    run: int
    severity: str
    proofs: list[Evidence] = field(default_factory=list)
    impact: str = ""
    meaning: str = ""
    verify: str = ""
    onset: float = 0.0
    crash: bool = False
    window: Window = Window()
    supports: int = 0
    kinds: frozenset[str] = frozenset({"log"})

    @property
    def confidence(self) -> str:
        """How sure this sighting is."""
        return confidence_of(self.rule.confidence, self.supports, len(self.kinds), self.window.samples)


def severity_of(rule: Rule, holds: Callable[[Node], bool | None]) -> str:
    """Return the first level whose condition is true; "info" when none is."""
    for level, condition in rule.severity:
        if condition is None or holds(condition) is True:
            return level
    return "info"


def confidence_of(start: str, supports: int, kinds: int, samples: int | None) -> str:
    """Return certain, likely or possible.

    A step up for each true support and once for proofs from two kinds of input, at most to certain; from there a step
    down when few samples stand behind it, so that no number of supports makes up for a short look.
    """
    level = CONFIDENCES.index(start) + supports + (kinds > 1)
    level = min(level, len(CONFIDENCES) - 1)
    if samples is not None and samples < FEW_SAMPLES:
        level -= 1
    return CONFIDENCES[max(level, 0)]


def window_text(window: Window, say: Say = ENGLISH) -> str:
    """Say when and how long: "10:19 - 10:41, 22 of 36 loaded minutes · 132 samples"."""
    when = " - ".join(dict.fromkeys(time for time in (window.start, window.end) if time))
    long = _lasted(window.seconds, window.loaded, say)
    parts = [say("{when}, {duration}").format(when=when, duration=long) if when and long else when or long]
    if window.samples is not None:
        told = say("{count} sample") if window.samples == 1 else say("{count} samples")
        samples = told.format(count=f"{window.samples:,}")
        parts.append(say("only {samples}").format(samples=samples) if window.samples < FEW_SAMPLES else samples)
    if window.events:
        parts.append(say("once") if window.events == 1 else say("{count} times").format(count=f"{window.events:,}"))
    return " · ".join(part for part in parts if part)


def _lasted(seconds: float, loaded: float, say: Say) -> str:
    if seconds <= 0:
        return ""
    if loaded <= 0:
        return _span(seconds, say)
    # Rounding and coarse rows may make the part a little longer than the whole.
    whole = max(seconds, loaded)
    size = _unit(whole)
    part = _number(seconds / size) if seconds >= size else _span(seconds, say)
    return say(_PARTS[size]).format(part=part, whole=_number(whole / size))


def _span(seconds: float, say: Say) -> str:
    size = _unit(seconds)
    number = _number(seconds / size)
    return say(_SPANS[size][number == "1"]).format(count=number)


def _unit(seconds: float) -> float:
    return 3600.0 if seconds >= 7200 else 60.0 if seconds >= 120 else 1.0


def _number(value: float) -> str:
    """Whole numbers from ten on, one decimal below where it says something."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")
