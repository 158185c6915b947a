"""A page under construction: lines of styled spans, printed with or without colour.

Layout happens here in plain text; rich is imported only to turn style names into terminal codes, so that a piped
report does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from diagnoser.reports import layout
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.safe import line

Span = tuple[str, str]  # text, style

#: One place for the colours: the sixteen of the terminal's own theme, so that light and dark ones both work.
STYLES = {
    "critical": "bold white on red",
    "warning": "bold yellow",
    "info": "bold cyan",
    "CAUSE": "bold red",
    "suspect": "yellow",
    "ok": "green",
    "pass": "green",
    "FAIL": "bold red",
    "title": "bold",
    "label": "bold",
    "dim": "dim",
    "bar": "cyan",
    "add": "green",
    "remove": "red",
    "proof": "",
}
_ASCII = str.maketrans(
    {
        "…": "~",
        "·": "|",
        "→": ">",
        "×": "x",
        "–": "-",
        "—": "-",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "≥": ">=",
        "≤": "<=",
        "¦": "!",
    }
)


class Page:
    """Collects lines. Every text added must be harmless already (``safe.line``)."""

    __slots__ = ("_lines", "_sources", "options", "say", "width")

    def __init__(self, options: RenderOptions, sources: Iterable[str] = ()) -> None:
        self.options = options
        self.say = options.say
        # Below 50 cells nothing can be laid out; above 160 the eye loses the line.
        self.width = max(50, min(options.width, 160))
        self._lines: list[list[Span]] = []
        self._sources = _short_names(sources)

    def source(self, name: str) -> str:
        """Return an input's name as short as it stays the only one; the head of the report has the whole."""
        return line(self._sources.get(name, name))

    @property
    def dot(self) -> str:
        """The joint between two facts on a line."""
        return " · " if self.options.unicode else " | "

    @property
    def arrow(self) -> str:
        """From the current value to the proposed one."""
        return "→" if self.options.unicode else "->"

    @property
    def mark(self) -> str:
        """Where something was cut off."""
        return "…" if self.options.unicode else "~"

    def add(self, *spans: Span | str) -> None:
        """Add one line as it is."""
        self._lines.append([span if isinstance(span, tuple) else (span, "") for span in spans])

    def gap(self) -> None:
        """One empty line between sections, never two and none at the top."""
        if self._lines and self._lines[-1]:
            self._lines.append([])

    def prose(self, text: str, indent: int, style: str = "") -> None:
        """Add a paragraph, wrapped."""
        for piece in layout.wrap(text, self.width - indent):
            self.add(" " * indent, (piece, style))

    def labelled(self, label: str, texts: Iterable[str], indent: int, column: int, style: str = "") -> None:
        """Add a bold label and paragraphs hanging at ``column``."""
        first = True
        for text in texts:
            for piece in layout.wrap(text, self.width - column):
                lead = layout.pad(" " * indent + label, column) if first else " " * column
                self.add((lead, "label"), (piece, style))
                first = False

    def text(self) -> str:
        """Return the page, ending in a newline, without trailing blanks."""
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        if not self.options.color:
            out = "\n".join("".join(text for text, _ in line).rstrip() for line in self._lines) + "\n"
            return out if self.options.unicode else out.translate(_ASCII)
        return "\n".join(map(self._painted, self._lines)) + "\n"

    def _painted(self, line: list[Span]) -> str:
        from rich.color import ColorSystem
        from rich.style import Style

        out = []
        for text, style in line:
            if not self.options.unicode:
                text = text.translate(_ASCII)
            name = STYLES.get(style, "")
            # Blanks carry no style: a coloured background must not bleed into the indent.
            out.append(
                Style.parse(name).render(text, color_system=ColorSystem.STANDARD) if name and text.strip() else text
            )
        return "".join(out).rstrip()


def _short_names(names: Iterable[str]) -> dict[str, str]:
    tails = {name: name.replace("\\", "/").rpartition("/")[2] or name for name in names}
    counted = list(tails.values())
    return {name: tail if counted.count(tail) == 1 else name for name, tail in tails.items()}
