"""Where bytes come from: files, folders, archives, rotated sets, standard input; decompressed, in numbered lines.

``open_inputs`` is the door. It decides what each input is from its content, never from its name alone, and reads
nothing but the first bytes; ``Source.raw_lines`` then streams with bounded memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from diagnoser.sources.names import InputError, expand, is_remote
from diagnoser.sources.part import Part
from diagnoser.sources.rotation import in_sets
from diagnoser.sources.source import Source

__all__ = ["STDIN_NAME", "InputError", "Source", "open_inputs"]

#: The name that evidence from standard input carries.
STDIN_NAME = "stdin"


def open_inputs(names: Sequence[str], stdin: BinaryIO | None, alone: bool = True) -> list[Source]:
    """Turn command-line names into sources, in the order given; rotated files of one log become one source.

    ``names`` are files, folders (searched for logs, recursively) or ``-`` for ``stdin``; no name at all means ``-``.
    A source that is empty, binary or cannot be opened is returned with its ``state`` and a problem as long as another
    one has content.
    What is in an archive stands in its place, under its names there; the archive's own name goes before them where it
    is not the only input.
    Raises ``InputError`` for a name that does not exist or cannot be read, a folder without logs, standard input that
    is missing or asked for twice, and, unless it stands not ``alone``, when no input has any content.
    """
    sources: list[Source] = []
    waiting: list[Part] = []
    listed: set[tuple[int, int]] = set()
    used_stdin = False
    for name in names or ["-"]:
        if is_remote(name):
            from diagnoser.sources import remote  # few inputs are

            waiting += remote.parts(name)
            continue
        if name != "-":
            for path, shown in expand(name, listed):
                waiting.append(Part(shown, path=path))
            continue
        if stdin is None:
            raise InputError("nothing to read: no input was named and standard input is not available")
        if used_stdin:
            raise InputError("standard input (-) can be read only once")
        used_stdin = True
        sources += [Source(parts) for parts in in_sets(waiting)]
        waiting = []
        sources.append(Source([Part(STDIN_NAME, stream=stdin)]))
    sources += [Source(parts) for parts in in_sets(waiting)]
    if any(source.kind == "archive" for source in sources):
        from diagnoser.sources.archive import unpacked  # few inputs are archives

        sources = [one for source in sources for one in unpacked(source, bare=len(sources) == 1)]
    if alone and not any(source.state == "ok" for source in sources):
        raise InputError("; ".join(problem.text for source in sources for problem in source.problems) or "no input")
    return sources
