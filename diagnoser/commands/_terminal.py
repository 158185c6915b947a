"""Where output goes: standard output as it can take it, files in one piece, messages to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from diagnoser.commands._errors import CommandError
from diagnoser.language import ENGLISH, Say
from diagnoser.reports.base import RenderOptions

#: What a report uses beyond ASCII: an encoding that cannot write these gets the plain drawing.
_DRAWN = "▁▂▃▄▅▆▇█…·→×"
#: Width of a report that goes to a pipe or a file.
_PIPED_WIDTH = 100


def render_options(
    color: str,
    width: int | None,
    to_file: bool,
    verbose: bool = False,
    unrecognised: bool = False,
    say: Say = ENGLISH,
) -> RenderOptions:
    """Decide what the receiver can show."""
    terminal = not to_file and is_terminal(sys.stdout)
    if width is None:
        width = columns(80) if terminal else _PIPED_WIDTH
    return RenderOptions(
        width=width,
        color=_wants_color(color, terminal, to_file),
        unicode=to_file or _can_draw(),
        verbose=verbose,
        unrecognised=unrecognised,
        say=say,
    )


def columns(unknown: int) -> int:
    """Return the width of the terminal, ``unknown`` where there is none."""
    from shutil import get_terminal_size  # drags in every archive format

    return get_terminal_size((unknown, 24)).columns


def folder() -> str:
    """Return the working directory, "" where it is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the other end; a closed stream is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _wants_color(color: str, terminal: bool, to_file: bool) -> bool:
    if color != "auto":
        return color == "always"
    if to_file or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _can_draw() -> bool:
    try:
        _DRAWN.encode(_encoding())
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write(text: str, output: str | None = None, for_people: bool = True) -> None:
    """Write a result. What programs read is UTF-8 everywhere; what people read is in their terminal's encoding."""
    if output is not None and output != "-":
        write_file(Path(output), text)
        return
    if sys.stdout is None:
        return
    data = text.encode(_encoding(), "backslashreplace") if for_people else text.encode("utf-8", "backslashreplace")
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text)
        return
    try:
        sys.stdout.flush()
        raw.write(data)
        raw.flush()
    except BrokenPipeError:
        # The reader has what it wanted (`| head`); the exit code still tells what was found.
        drop_output()
    except OSError as error:
        raise CommandError(f"standard output: {error.strerror or error}") from None


def drop_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush cannot fail loudly."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


def say(text: str) -> None:
    """Say something to the person, beside the result."""
    if sys.stderr is not None:
        print(f"diagnose: {text}", file=sys.stderr, flush=True)


def check_output(output: str | None, inputs: list[str], option: str = "--output") -> None:
    """Refuse at once what would fail, or destroy an input, after minutes of reading."""
    if output is None or output == "-":
        return
    path = Path(output)
    if path.is_dir():
        raise CommandError(f"{option} {output}: is a folder, not a file")
    if not path.parent.is_dir():
        raise CommandError(f"{option} {output}: no folder {path.parent}")
    for name in inputs if path.exists() else ():
        if name != "-" and any(path.samefile(one) for one in _read_of(Path(name))):
            raise CommandError(f"{option} {output}: would overwrite the input")


def _read_of(path: Path) -> Iterator[Path]:
    """Yield the files behind a name on the command line: those of a folder, too."""
    if path.is_dir():
        from diagnoser.sources.names import InputError, expand

        with suppress(InputError, OSError):  # told when it is read
            yield from (one for one, _ in expand(str(path), set()))
    elif path.exists():
        yield path


def write_file(path: Path, text: str) -> None:
    """Write in one piece: a reader sees the old file or the new one, never half of one."""
    data = text.encode("utf-8", "backslashreplace")
    target = path.resolve()
    if target.exists() and not target.is_file():  # a device or a named pipe cannot be replaced
        target.write_bytes(data)
        return
    import tempfile  # most reports go to standard output

    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise CommandError(f"{path}: {error.strerror or error}; nothing was written") from None
        raise


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
