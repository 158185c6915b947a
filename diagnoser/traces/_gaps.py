"""How busy GPUs were: the time that work covers, and the gaps between, by their length."""

from __future__ import annotations

from array import array

from diagnoser.values import dataclass

#: Gaps shorter than this, seconds, are the price of launching kernels one by one: each takes Python 5 to 50 us.
LAUNCH = 100e-6
#: Gaps longer than this, seconds, are no part of the engine's loop: there was nothing to do, or it stood still.
PAUSE = 0.1
#: Stretches of work kept for one GPU, and GPUs.
MOST = 1_000_000
DEVICES = 64


@dataclass(slots=True, frozen=True)
class Gaps:
    """Seconds of all GPUs together: covered by work, in gaps of each length, and from first to last."""

    busy: float
    launch: float
    step: float
    pause: float

    @property
    def span(self) -> float:
        """From the first work to the last, added over GPUs."""
        return self.busy + self.launch + self.step + self.pause


class Work:
    """Collects stretches of work in any order, in bounded memory; times are seconds in a clock of their own."""

    def __init__(self) -> None:
        self.left_out = 0
        self._kept: dict[int, tuple[array[float], array[float]]] = {}

    def __len__(self) -> int:
        return sum(len(starts) for starts, _ in self._kept.values())

    def add(self, device: int, start: float, end: float) -> None:
        """Take a stretch; those that end before they begin are no stretch."""
        if not start <= end < float("inf"):
            return
        if device not in self._kept and len(self._kept) >= DEVICES:
            self.left_out += 1
            return
        starts, ends = self._kept.setdefault(device, (array("d"), array("d")))
        if len(starts) >= MOST:
            self.left_out += 1
            return
        starts.append(start)
        ends.append(end)

    def gaps(self) -> Gaps | None:
        """Return how the time was spent; None without any work."""
        if not self._kept:
            return None
        busy = launch = step = pause = 0.0
        for starts, ends in self._kept.values():
            first = reached = min(starts)
            covered = 0.0
            for at in sorted(range(len(starts)), key=starts.__getitem__):
                start, end = starts[at], ends[at]
                if start > reached:
                    covered += reached - first
                    first = start
                    gap = start - reached
                    if gap < LAUNCH:
                        launch += gap
                    elif gap < PAUSE:
                        step += gap
                    else:
                        pause += gap
                reached = max(reached, end)
            busy += covered + reached - first
        return Gaps(busy, launch, step, pause)
