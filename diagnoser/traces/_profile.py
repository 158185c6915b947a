"""One profile as numbers: where the time of GPUs and of the host went, whatever profiler wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, log

from diagnoser.knowledge.kernels import kernel_names
from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Claim, Measure, Observation
from diagnoser.tables.table import Origin
from diagnoser.traces._gaps import Work
from diagnoser.traces._named import Section, percent

#: Kernels below this, seconds, take about as long as launching them.
SHORT = 10e-6
#: Kernels that graphs hide may take this share of the time before shares of the others mean nothing.
HIDDEN = 0.1
#: Characters kept of the name of a GPU.
GPU = 80

GRAPHS = Sentence(
    "the kernels inside CUDA graphs were not recorded, so shares of kernels are left out; "
    "profile again with nsys profile --cuda-graph-trace=node"
)
STACKS = Sentence(
    "Python stacks were recorded, which slows the host, so gaps between kernels are left out; "
    "profile again without them (vLLM torch_profiler_with_stack, SGLang with_stack)"
)

#: Shares that are not of the kernels' time.
_BESIDE = frozenset({"idle share", "pause share", "waiting share", "prefill share", "attention_triton share"})


class Profile:
    """Collects what a profile holds; every time is in seconds."""

    def __init__(self) -> None:
        names = kernel_names()
        self.kernels, self.calls = Section(names.kernels), Section(names.calls)
        self.system, self.steps = Section(names.system), Section(names.steps)
        self.work = Work()
        self.copies: float | None = None  # None: nobody looked
        self.graphs = 0.0
        #: Whether work inside graphs is among the work, so that gaps are gaps.
        self.complete = True
        #: Whether the profiler recorded Python stacks, which slows the host so much that gaps are its own.
        self.stacks = False
        self.gpu = ""
        self.lengths: dict[int, float] = {}

    def kernel(
        self, name: str, time: float, length: float, count: float = 1, place: tuple[int, str] | None = None
    ) -> None:
        """Add kernels of one name that took ``time`` in all and ``length`` each (the median, where it is known)."""
        self.kernels.add(name, time, count, place)
        if 0 < length < inf and 0 < count < inf:
            bin_ = round(log(length) * 100)  # one per cent wide
            self.lengths[bin_] = self.lengths.get(bin_, 0) + count

    def copy(self, time: float) -> None:
        """Add time of copies on the GPU; 0 says that copies were looked for."""
        self.copies = (self.copies or 0.0) + (time if 0 <= time < inf else 0.0)

    def graph(self, device: int, start: float, end: float) -> None:
        """Add a graph whose kernels were not recorded one by one."""
        if start <= end < inf:
            self.graphs += end - start
            self.work.add(device, start, end)

    def observations(self, writer: str, origin: Origin) -> Iterator[Observation]:
        """Yield the numbers, where anything was recorded that tells some, the GPU, and what limits the view."""
        measure = self._measure(writer, origin)
        if measure is not None:
            yield measure
            if self.gpu:
                yield Claim(writer, "gpu", self.gpu[:GPU], origin, f"recorded on {self.gpu[:GPU]}")
        if self._hidden():
            yield Problem(origin.source, None, GRAPHS)
        if self.stacks:
            yield Problem(origin.source, None, STACKS)
        if self.work.left_out:
            text = Sentence(
                "gaps were looked for between {count} kernels; {left_out} more were too many",
                count=len(self.work),
                left_out=self.work.left_out,
            )
            yield Problem(origin.source, None, text)

    def _measure(self, writer: str, origin: Origin) -> Measure | None:
        values: dict[str, float] = {}
        places: dict[str, tuple[int, str]] = {}
        if self.kernels.time and not self._hidden():
            for label in self.kernels.of.classes:
                values[f"{label} share"] = self.kernels.share(label)
            places |= {f"{label} share": place for label, place in self.kernels.places().items()}
            values |= self._lengths_told()
        values |= self._idle() | self._host() | self._stepped()
        if self.copies is not None and self.kernels.time:
            values["copy share"] = self.copies / (self.copies + self.kernels.time + self.graphs)
        if not values:
            return None
        return Measure(writer, "profile", origin, None, told(values), values, places=places or None)

    def _hidden(self) -> bool:
        """Whether graphs ran whose kernels are not among the kernels."""
        if self.graphs > HIDDEN * (self.kernels.time + self.graphs):
            return True
        graph, launch = self.calls.classes.get("graph"), self.calls.classes.get("launch")
        if graph is None or graph.count == 0 or self.kernels.count == 0:
            return False
        # Kernels of a graph have no launch of their own: where all are launched, those of the graphs are missing.
        return launch is not None and self.kernels.count <= 1.05 * launch.count

    def _gaps_count(self) -> bool:
        """Whether time without recorded work is time without work."""
        return self.complete and not self.stacks and (self.graphs > 0 or not self._hidden())

    def _lengths_told(self) -> dict[str, float]:
        out = {"kernels": self.kernels.count, "kernel time": self.kernels.time}
        total, seen = sum(self.lengths.values()), 0.0
        for one in sorted(self.lengths):
            seen += self.lengths[one]
            if seen >= total / 2:
                out["median kernel"] = exp(one / 100)
                break
        if total:
            limit = log(SHORT) * 100
            out["short kernels"] = sum(count for one, count in self.lengths.items() if one < limit) / total
        return out

    def _idle(self) -> dict[str, float]:
        gaps = self.work.gaps() if self._gaps_count() else None
        if gaps is None or gaps.busy + gaps.launch + gaps.step <= 0:
            return {}
        loop = gaps.span - gaps.pause
        out = {"idle share": (gaps.launch + gaps.step) / loop, "pause share": gaps.pause / gaps.span}
        out |= {"launch gaps": gaps.launch / loop, "step gaps": gaps.step / loop}
        if not self._hidden() and not self.work.left_out:
            out["kernels per second"] = self.kernels.count / loop
        return out

    def _host(self) -> dict[str, float]:
        out: dict[str, float] = {}
        calls = self.calls
        if calls.count:
            for label in ("launch", "graph"):
                out[f"{label} calls"] = calls.classes[label].count if label in calls.classes else 0.0
            if calls.time:
                out |= {f"{label} share of calls": calls.share(label) for label in ("launch", "wait", "copy")}
            if self.kernels.time and not self._hidden():
                launches = sum(calls.classes[one].time for one in ("launch", "graph") if one in calls.classes)
                out["launch time"] = launches / self.kernels.time
        if self.system.time:
            out["waiting share"] = self.system.share("wait")
        return out

    def _stepped(self) -> dict[str, float]:
        steps = [self.steps.classes[one] for one in ("decode", "prefill") if one in self.steps.classes]
        total = sum(one.time for one in steps)
        if not total:
            return {}
        out = {"prefill share": self.steps.classes["prefill"].time / total if "prefill" in self.steps.classes else 0.0}
        if self.kernels.count:
            out["kernels per step"] = self.kernels.count / sum(one.count for one in steps)
        return out


def told(values: dict[str, float]) -> str:
    """Write a profile in one line, what idles first: what is shown as proof. Classes that take nothing are left out."""
    parts = [f"{label} {percent(values[label])}" for label in ("step gaps", "launch gaps") if label in values]
    parts += [f"{values[label]:,.0f} {label}" for label in ("launch calls", "graph calls") if label in values]
    if "short kernels" in values:
        parts.append(f"{percent(values['short kernels'])} of kernels under {SHORT * 1e6:.0f} us")
    if "prefill share" in values:
        parts.append(f"prompts {percent(values['prefill share'])} of step time")
    shares = [(label.removesuffix(" share"), share) for label, share in values.items() if _of_kernels(label) and share]
    parts += [f"{label} {percent(share)}" for label, share in sorted(shares, key=lambda one: -one[1])]
    if "waiting share" in values:
        parts.append(f"waiting {percent(values['waiting share'])} of system calls")
    return "profile: " + ", ".join(parts)


def _of_kernels(label: str) -> bool:
    return label.endswith(" share") and label not in _BESIDE
