"""The name of the writing process in front of a line: ``(Worker_TP1 pid=72) ``, ``[rank3]: ``, colours lost or kept.

vLLM 0.4.2 to 0.30 wraps the streams of each process, so every physical line starts with the name: also prints, progress
bars and tracebacks. Ray does the same for its actors, and both may stand in one line (engine core, then Ray worker).
"""

from __future__ import annotations

from diagnoser.patterns import lazily
from diagnoser.tables.table import Group
from diagnoser.values import dataclass

_TAG = lazily(r"\((?:([A-Za-z][\w .:+-]*?)(?: rank=(\d+))? )?pid=(\d+)(?:, ip=[\w.:]+)?\) ?")
# Without a blank behind it, a bracket is PyTorch's own head, which names the rank itself.
_RANK = lazily(r"\[(?:rank|default)(\d+)\]:(?: (?!\[[IWEFVDC]\d)|(?![ \[]))")
_ANSI = lazily(r"\x1b\[[0-9;?]*[A-Za-z]")
# Logs pasted into issue trackers lose the escape byte and keep the rest of the code.
_LOST = lazily(r"\[(?:\d{1,2};)?\d{1,2}m")
_LOST_REACH = 120
_PARTS = lazily(r"(?<![A-Za-z])(DPRank_|DP|PP|PCP|TP|DCP|EP)(\d+)(?![A-Za-z])")
_NUMBERED = lazily(r"(EngineCore|ApiServer|VllmWorker)[_-](\d+)$")
_NUMBERED_LABEL = {"EngineCore": "dp", "ApiServer": "api", "VllmWorker": "tp"}


@dataclass(slots=True, frozen=True)
class Writer:
    """Who wrote a line. ``tag`` is the prefix as printed (it tells two processes of one name apart)."""

    tag: str = ""
    name: str = ""
    ranks: Group = ()


NOBODY = Writer()


def colourless(text: str) -> str:
    """Drop ANSI colours, also those whose escape byte was lost at the start of the line."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text[:1] == "[" and _LOST.match(text):
        text = _LOST.sub("", text[:_LOST_REACH]) + text[_LOST_REACH:]
    return text


def length(text: str) -> int:
    """How many characters of process prefixes a line starts with (several may follow each other)."""
    end = 0
    while True:
        found = _TAG.match(text, end) or _RANK.match(text, end)
        if found is None or found.end() == end:
            return end
        end = found.end()


def writer(tag: str) -> Writer:
    """Read name and ranks off the prefixes ``tag``; the innermost name counts, the ranks add up."""
    name, ranks, end = "", dict[str, str](), 0
    while end < len(tag):
        found = _TAG.match(tag, end)
        if found is None:
            rank = _RANK.match(tag, end)
            if rank is None:
                break
            ranks["rank"] = rank.group(1)
            end = rank.end()
            continue
        end = found.end()
        printed = found.group(1) or ""
        if found.group(2) is not None:
            ranks["tp"] = found.group(2)
        for part, number in _PARTS.findall(printed.replace("_", " ").replace("DPRank ", "DPRank_")):
            ranks["dp" if part == "DPRank_" else part.lower()] = number
        numbered = _NUMBERED.match(printed)
        if numbered is not None:
            ranks[_NUMBERED_LABEL[numbered.group(1)]] = numbered.group(2)
        # "VllmWorker TP0" (0.10.1) names the process, then its place; "Worker_TP0" is one name.
        name = printed.split(" ")[0] or name
    return Writer(tag, name, tuple(sorted(ranks.items())))
