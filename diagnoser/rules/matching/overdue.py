"""Event patterns that took too long on a line: which, where, how often; and when one is tried no longer."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.contracts.findings import Input
from diagnoser.language import Sentence, phrase
from diagnoser.model import Record
from diagnoser.rules.model import EventSpec, Template
from diagnoser.tables.table import Origin
from diagnoser.values import dataclass

#: Seconds one pattern may take on one line. Log text is hostile; a pattern that runs longer counts as no match.
TIME_LIMIT = 0.05
#: Lines on which one pattern may run out of time in one reading: a million such lines would take hours.
MOST_LINES = 20

_LATE = phrase(
    "the pattern of the event '{name}' ({place}) took longer than {limit} ms on {lines}: it counts as no match, and "
    "what needs it may be missing"
)
_GIVEN_UP = phrase(
    "the pattern of the event '{name}' ({place}) took longer than {limit} ms on {lines}, so that it was given up: it "
    "counts as no match, and what needs it may be missing"
)


@dataclass(slots=True)
class Late:
    """One pattern that ran out of time: the event, the template, the first line and how many there were."""

    spec: EventSpec
    template: Template
    first: Origin
    count: int = 1

    def sentence(self) -> str:
        """Name the event, its place in the rule file and the line."""
        place = self.template.place if self.template.place.file else self.spec.place
        lines = Sentence("one line") if self.count == 1 else Sentence("{count} lines", count=self.count)
        pattern = _GIVEN_UP if self.count >= MOST_LINES else _LATE
        text = Sentence(
            pattern,
            name=self.spec.name,
            place=f"{place.file}:{place.line}",
            limit=f"{TIME_LIMIT * 1000:.0f}",
            lines=lines,
        )
        return Sentence("line {line}: {text}", line=str(self.first.line), text=text)


class Overdue(dict[int, Late]):
    """What ran out of time in one reading, by the template's identity. ``said``: what was told of the inputs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def begin(self) -> None:
        """Begin a reading."""
        self.clear()
        self.said.clear()

    def note(self, spec: EventSpec, template: Template, record: Record) -> None:
        """Take note of one line."""
        late = self.get(id(template))
        if late is None:
            self[id(template)] = Late(spec, template, record.origin)
        else:
            late.count += 1

    def given_up(self, template: Template) -> bool:
        """Whether a template is tried no longer."""
        late = self.get(id(template))
        return late is not None and late.count >= MOST_LINES

    def tell(self, inputs: Sequence[Input]) -> None:
        """Put what is to be told of each to the problems of the input that had the line."""
        for late in self.values():
            named = (one for one in inputs if one.name == late.first.source)
            if (told := next(named, inputs[0] if inputs else None)) is not None:
                told.problems.append(late.sentence())

    def settle(self, read: Input) -> None:
        """Tell of one input that was read to its end, and go on as if it had not been."""
        self.tell([read])
        self.said += [late.sentence() for late in self.values()]
        self.clear()

    def sentences(self) -> list[str]:
        """Return what is told of this reading, a sentence each."""
        return self.said + [late.sentence() for late in self.values()]
