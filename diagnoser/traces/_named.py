"""Time by name and by class: kernels, API calls, system calls or steps of one profile, in bounded memory."""

from __future__ import annotations

from math import inf

from diagnoser.knowledge.kernels import Names
from diagnoser.values import dataclass, field

#: Names told apart, and characters kept of one.
MOST_NAMES = 20_000
NAME = 300
#: Characters kept of a proof.
PROOF = 400


@dataclass(slots=True)
class Part:
    """Time in seconds and number of what bore one name, or belongs to one class; where its largest entry stands."""

    time: float = 0.0
    count: float = 0.0
    most: float = 0.0
    place: tuple[int, str] = (0, "")


@dataclass(slots=True)
class Section:
    """One kind of name (kernels, API calls, …) by class. ``names`` are few enough to be kept one by one."""

    of: Names
    time: float = 0.0
    count: float = 0.0
    classes: dict[str, Part] = field(default_factory=dict)
    names: dict[str, Part] = field(default_factory=dict)
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, name: str, time: float, count: float = 1, place: tuple[int, str] | None = None) -> None:
        """Add a call or kernel (``count`` of them, ``time`` in all); what is no number or negative counts not."""
        if not (0 <= time < inf and 0 < count < inf):
            return
        name = name[:NAME]
        self.time += time
        self.count += count
        found = self.known.get(name)
        if found is None:
            found = self.of.of(name)
            if len(self.known) < MOST_NAMES:
                self.known[name] = found
        if place is None and (name in self.names or len(self.names) < MOST_NAMES):
            one = self.names.setdefault(name, Part())
            one.time += time
            one.count += count
        for label in found:
            part = self.classes.setdefault(label, Part())
            part.time += time
            part.count += count
            if place is not None and time > part.most:
                part.most, part.place = time, (place[0], place[1][:PROOF])

    def share(self, label: str) -> float:
        """Return the share of time that a class takes."""
        return self.classes[label].time / self.time if label in self.classes and self.time else 0.0

    def places(self) -> dict[str, tuple[int, str]]:
        """Return the heaviest name of each class: its line, or in words where no line is of it alone."""
        out = {label: part.place for label, part in self.classes.items() if part.place[1]}
        for name, one in sorted(self.names.items(), key=lambda item: -item[1].time):
            for label in self.known.get(name, ()):
                text = (
                    f"{name}: {one.time:.3g} s in {one.count:,.0f}, {percent(one.time / (self.time or 1))} of the time"
                )
                out.setdefault(label, (0, text[:PROOF]))
        return out


def percent(share: float) -> str:
    """Write a share: ``41 %``."""
    return f"{share * 100:.0f} %"
