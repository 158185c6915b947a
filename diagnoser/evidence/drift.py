"""Statistics lines that an engine prints differently from every version that was read: new fields, new spellings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from diagnoser.formats.base import StatsLine
from diagnoser.language import ENGLISH, Say
from diagnoser.model import Drift, Record, Run
from diagnoser.patterns import lazily

#: Kinds of drift kept per run: a log that invents fields must not grow memory.
MOST = 24
#: Characters of a line that are kept, and of a label.
TEXT, LABEL = 400, 60
#: Sentences of a report, and characters of the line in each.
SAID, EXCERPT = 6, 160

#: Gives the labels that some version of an engine prints, whether or not a series takes them.
Known = Callable[[str], Collection[str]]

#: How the engines begin their statistics lines.
_ANCHORS = {
    "vllm": lazily(
        r"(?:Engine \d+: |\d+ Engines Aggregated: )?(?:Avg (?:prompt|generation) |Running: \d)"
        r"|Engine \d+: .*KV cache usage"
    ),
    "sglang": lazily(r"(?:Decode|Prefill) batch\b.*#"),
}
_BEGINNINGS = ("Engine ", "Avg ", "Running: ", "Decode batch", "Prefill batch")
_WORDS = lazily(r"#?[A-Za-z][\w /#().+-]*")


def unknown_fields(stats: StatsLine, text: str, mapped: Callable[[str], object], known: Collection[str]) -> list[str]:
    """Return the labels of a statistics line that feed no series and that no version read prints.

    Fields whose value is no number are among them.
    """
    found = [label for label in stats.values if not mapped(label) and label not in known]
    for label in _printed(text):
        if label not in stats.values and label not in found and not mapped(label) and label not in known:
            found.append(label)
    return [label for label in found if len(label) <= LABEL][:MOST]


def _printed(text: str) -> Iterator[str]:
    """Yield every ``label`` of ``label: value, label: value`` as printed."""
    for piece in text.partition("\n")[0][:4096].split(", "):
        label, found, value = piece.rpartition(": ")
        label = label.rpartition(": ")[2].strip()
        if found and value.strip() and _WORDS.fullmatch(label):
            yield label


def note(run: Run, label: str, record: Record, count: int = 1) -> None:
    """Count a line under its unknown label, "" for one that cannot be read at all; the first of so many."""
    kept = run.drift.get(label)
    if kept is None:
        if len(run.drift) >= MOST:
            return
        kept = run.drift[label] = Drift(label, record.origin, record.text[:TEXT], 0)
    kept.count += count


def unread(record: Record) -> bool:
    """Tell whether a message begins like a statistics line of its engine and is none that can be read."""
    if not record.text.startswith(_BEGINNINGS):
        return False
    anchor = _ANCHORS.get(record.dialect)
    return anchor is not None and anchor.match(record.text[:TEXT]) is not None


def sentences(run: Run, say: Say = ENGLISH) -> list[str]:
    """Return what a report says of a run's drift, the line with it."""
    said = []
    field = say(
        "drift: the field '{label}' of a statistics line is in no version that was read ({times}, {place}): {line}"
    )
    form = say("drift: a form of a statistics line is in no version that was read ({times}, {place}): {line}")
    for one in list(run.drift.values())[:SAID]:
        times = say("once") if one.count == 1 else say("{count} times").format(count=one.count)
        at = max(0, one.text.find(one.label) - EXCERPT // 2) if one.label else 0
        excerpt = ("..." if at else "") + one.text[at : at + EXCERPT] + ("..." if len(one.text) > at + EXCERPT else "")
        place = f"{one.origin.source}:{one.origin.line}"
        said.append((field if one.label else form).format(label=one.label, times=times, place=place, line=excerpt))
    if len(run.drift) > SAID:
        rest = say("drift: {count} more fields of statistics lines are in no version that was read")
        said.append(rest.format(count=len(run.drift) - SAID))
    return said
