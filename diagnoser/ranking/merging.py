"""Sightings of one cause become one group: over runs, and over the ranks that print the same error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnoser.contracts.findings import Evidence
from diagnoser.patterns import lazily
from diagnoser.ranking.sighting import Sighting
from diagnoser.rules.model import CONFIDENCES, SEVERITIES
from diagnoser.values import dataclass, replace

#: Lines of evidence that a finding keeps.
LINES = 6

#: Writers that a line's label names; a fleet has a thousand.
MOST_WORDS = 16

#: Digits of a rank's number; a longer one is no number, whatever a log prints.
_LONGEST_RANK = 9

_DIGITS = lazily(r"\d+")
#: A line of a metrics page: name and labels, and the value.
_SAMPLE = lazily(r"([A-Za-z_:][\w:.]*\{[^\n]*\}) (\S+)")


@dataclass(slots=True)
class Group:
    """A cause over all runs. ``main`` is the sighting that speaks for it: the most severe, then the longest."""

    main: Sighting
    sightings: list[Sighting]
    evidence: list[Evidence]
    runs: tuple[int, ...]
    severity: str
    confidence: str
    kinds: frozenset[str]

    @property
    def onset(self) -> tuple[int, float]:
        """Run and place in it of the first proof of all."""
        return min((one.run, one.onset) for one in self.sightings)

    @property
    def crash(self) -> bool:
        """Whether some run died of it."""
        return any(one.crash for one in self.sightings)

    @property
    def optional(self) -> bool:
        """An experimental remark: it explains nothing more severe than itself."""
        return self.severity == "info" and self.main.rule.status == "experimental"


def merge(sightings: Iterable[Sighting]) -> dict[str, Group]:
    """Return one group per cause, by id."""
    by_id: dict[str, list[Sighting]] = {}
    for one in sightings:
        by_id.setdefault(one.rule.id, []).append(one)
    return {name: _group(by_id[name]) for name in sorted(by_id)}


def _group(found: list[Sighting]) -> Group:
    found = sorted(found, key=lambda one: (one.run, one.onset))
    main = min(found, key=lambda one: (-SEVERITIES.index(one.severity), -one.window.seconds, one.run, one.onset))
    proofs = [proof for one in [main, *(other for other in found if other is not main)] for proof in one.proofs]
    return Group(
        main=main,
        sightings=found,
        evidence=across_ranks(proofs)[:LINES],
        runs=tuple(dict.fromkeys(one.run for one in found)),
        severity=main.severity,
        confidence=max((one.confidence for one in found), key=CONFIDENCES.index),
        kinds=frozenset().union(*(one.kinds for one in found)),
    )


def across_ranks(proofs: Sequence[Evidence]) -> list[Evidence]:
    """Drop repeated lines, and join lines that differ in their rank and in numbers only: the first stays.

    Its labels list all ranks. Lines with the same labels are different moments of one writer and both stay. So do lines
    of a metrics page with different values: that ranks differ is what they prove.
    """
    kept: list[Evidence] = []
    shapes: dict[str, int] = {}
    writers: dict[str, list[dict[str, str]]] = {}
    seen: set[tuple[str, int]] = set()
    for proof in proofs:
        if (proof.source, proof.line) in seen:
            continue
        seen.add((proof.source, proof.line))
        shape = _shape(proof.text)
        at = shapes.get(shape)
        if at is None or not proof.labels or proof.labels in writers[shape][:1]:
            if at is None:
                shapes[shape], writers[shape] = len(kept), [proof.labels]
            kept.append(proof)
        elif proof.labels not in writers[shape]:
            writers[shape].append(proof.labels)
    for shape, at in shapes.items():
        if len(writers[shape]) > 1:
            kept[at] = replace(kept[at], labels=_joined(writers[shape]))
    return kept


def _shape(text: str) -> str:
    """Return what lines that say the same have in common; of a line of a metrics page its value is part of it."""
    sample = _SAMPLE.fullmatch(text)
    return _DIGITS.sub("#", text) if sample is None else f"{_DIGITS.sub('#', sample[1])} {sample[2]}"


def _joined(labels: list[dict[str, str]]) -> dict[str, str]:
    names = dict.fromkeys(name for one in labels for name in one)
    return {name: _listed({one[name] for one in labels if name in one}) for name in names}


def _listed(values: set[str]) -> str:
    """Write numbers as ranges: "0-7", "0-2,5"; other words as a list."""
    if not all(value.isdecimal() and len(value) <= _LONGEST_RANK for value in values):
        listed = sorted(values)
        more = f" and {len(listed) - MOST_WORDS} more" if len(listed) > MOST_WORDS + 1 else ""
        return ",".join(listed[:MOST_WORDS] if more else listed) + more
    runs: list[list[int]] = []
    for number in sorted({int(value) for value in values}):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
