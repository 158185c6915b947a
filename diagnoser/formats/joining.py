"""A record while it is open: its bounded text, and which lines still belong to it."""

from __future__ import annotations

import re
from collections import deque

from diagnoser.formats import python, vllm
from diagnoser.formats.base import Head
from diagnoser.model import Record
from diagnoser.patterns import lazily

#: A record keeps this much of its text; beyond it the middle goes, because the exception stands at the end.
MOST_LINES = 400
MOST_CHARACTERS = 64 * 1024
_CUT = "... cut ..."

#: Lines of a message that may follow an exception line or a heading.
_MOST_AFTER = 64

# Python and C++ print stacks and lists of threads below these, argparse its options.
_DUMPS = ("usage: ", "terminate called ", "Fatal Python error: ", "!!!!!!!")
# Messages that print more below themselves without repeating any prefix.
_TROUBLE = lazily(r":\s*$|exception|error|traceback|failed|out of memory|leak|solutions|dump for|usage:", re.IGNORECASE)
_LISTED = lazily(r"frame #\d+|Exception raised from |\d{1,3}[.)] |[-*•] |what\(\): |(?:\+|\|) ")


class Open:
    """One record that may still grow. ``frames`` tells how far a traceback in it has come."""

    __slots__ = ("_characters", "_head", "_tail", "after", "closed", "frames", "prefix", "record", "seen")

    def __init__(self, record: Record, prefix: str, seen: int) -> None:
        self.record = record
        self.prefix = prefix
        self.seen = seen
        self.closed = False
        self.after = 0
        self._head: list[str] = []
        self._tail: deque[str] | None = None
        self._characters = 0
        text = record.text
        # "" no traceback, "frames" inside one, "last" after its exception line, "chain" before the next of a chain,
        # "lead" after an announcement such as "Process EngineCore_0:".
        self.frames = ""
        if record.kind == "traceback":
            if text.startswith(python.TRACEBACK):
                self.frames = "frames"
            else:
                self.frames = "lead" if text.endswith(":") or not python.is_exception(text) else "last"
        elif text.endswith(python.TRACEBACK):
            self.frames = "frames"

    def append(self, text: str, number: int, seen: int) -> None:
        """Add one line; ``number`` is its physical line, ``seen`` the reader's count."""
        if not self._head:
            self._head.append(self.record.text)
            self._characters = len(self.record.text)
        if self._tail is None and len(self._head) < MOST_LINES // 2 and self._characters < MOST_CHARACTERS // 2:
            self._head.append(text)
        else:
            if self._tail is None:
                self._tail = deque(maxlen=MOST_LINES // 2)
            self._tail.append(text)
        self._characters += len(text) + 1
        self.record.last_line = number
        self.seen = seen

    def glue(self, text: str, number: int, seen: int) -> None:
        """Put ``text`` behind the last line: a terminal had broken it there."""
        if self._tail:
            self._tail[-1] += text
        elif self._head:
            self._head[-1] += text
        else:
            self.record.text += text
        self._characters += len(text)
        self.record.last_line = number
        self.seen = seen

    def close(self) -> None:
        """Write the collected lines into the record."""
        self.closed = True
        if self._head:
            lines = self._head
            tail = list(self._tail or ())
            room = MOST_CHARACTERS - sum(len(line) + 1 for line in lines)
            kept = len(tail)
            while kept and room > 0:
                kept -= 1
                room -= len(tail[kept]) + 1
            dropped = self._characters > MOST_CHARACTERS or len(tail) == MOST_LINES // 2
            self.record.text = "\n".join([*lines, *([_CUT] if dropped and tail else []), *tail[kept:]]).rstrip("\n")
        if len(self.record.text) > 2 * MOST_CHARACTERS:
            text = self.record.text
            self.record.text = f"{text[:MOST_CHARACTERS]}{_CUT}{text[-MOST_CHARACTERS // 4 :]}"

    def takes_prefixed(self, text: str) -> bool:
        """Whether a line with this record's own prefix (directly behind it) is a part of it."""
        if text == "" or text[0] in " \t":
            return True
        if self.record.kind == "request":
            # The same logging call prints the same beginning: anything else is the user's text behind a line break.
            return vllm.kind_of(text) != "request"
        if text.startswith(python.TRACEBACK):
            # A traceback inside an exception's message (or its notes) belongs to it; a call that prints nothing but
            # tracebacks begins a record with each.
            if self.frames and self.frames != "chain" and self._first().startswith(python.TRACEBACK):
                return False
            self.frames = "frames"
            return True
        if not self.frames and not self._head:
            return False
        if self.frames and python.is_chain(text):
            self.frames = "chain"
            return True
        if self.frames == "frames":
            self.frames = "last"
            return True
        # Behind the exception line or an indented line: more of the message, unless the logging call speaks anew.
        return text.split(" ", 2)[:2] != self._first().split(" ", 2)[:2]

    def _first(self) -> str:
        return self._head[0] if self._head else self.record.text

    def takes_bare(self, text: str, head: Head | None) -> bool:
        """Whether a line without a prefix is a part of this record. ``head``: the dialect that claims the line."""
        kind = self.record.kind
        if kind == "request":
            # What a user sent may look like anything; only an engine's prefix or an access line ends it.
            return head is None or (head.kind != "access" and head.dialect in ("python", "torch", "ray", "progress"))
        if self.frames:
            return self._takes_traceback(text, head)
        if self.record.dialect == "python" and self.record.text.startswith(_DUMPS):
            return head is None and (text[:1] in " \t" or self._few())
        if not text:
            # A warning's text may hold empty lines before the source line.
            return self.record.dialect == "python" and self.record.level == "WARNING"
        if text[0] in " \t" and (head is None or head.dialect == "python"):
            return True
        if kind not in ("message", "raw") or self.record.dialect in ("vllm", "progress", "kernel"):
            return False
        if head is not None:
            if text.startswith(python.TRACEBACK) and self._announces():
                self.frames = "frames"
                return True
            return False
        if kind == "raw":
            return False
        if not self._few():
            return False
        return _LISTED.match(text) is not None or (
            self.record.dialect == "sglang" and _TROUBLE.search(self.record.text) is not None
        )

    def _few(self) -> bool:
        """Count a line that only its place ties to the record; False once there were too many of them."""
        self.after += 1
        return self.after <= _MOST_AFTER

    def _announces(self) -> bool:
        """Whether the message speaks of an error, so that the bare traceback behind it is its own."""
        if self.record.dialect == "ray" and self.record.process:
            return False  # another process, whose own lines would bear its name
        return self.record.level in ("ERROR", "CRITICAL") or _TROUBLE.search(self.record.text) is not None

    def _takes_traceback(self, text: str, head: Head | None) -> bool:
        if not text or text[0] in " \t":
            return True
        if text.startswith(python.TRACEBACK):
            if self.frames in ("chain", "lead"):
                self.frames = "frames"
                return True
            return False
        if python.is_chain(text):
            self.frames, self.after = "chain", 0
            return True
        python_said = head is None or (head.dialect == "python" and head.kind == "traceback")
        if self.frames == "frames":
            if head is not None and not python_said:
                return False
            if not python.is_exception(text):
                return False
            self.frames, self.after = "last", 0
            return True
        if not python_said or (text.endswith(":") and text.startswith("Process ")):
            return False
        return self._few()


def whole_request(record: Record) -> bool:
    """Whether a request line of a dialect without re-prefixing has reached its printed end."""
    text = record.text
    if record.dialect == "vllm":
        return vllm.request_complete(text)
    # SGLang ends "Receive:" with a bracket and "Finish:" with a brace, and puts user text between double quotes.
    return text[-1:] in (")", "}") and text.count('"') % 2 == 0
