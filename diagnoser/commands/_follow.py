"""`diagnose --follow`: inputs that grow, a live screen or a line for each change, and the report at the end."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnoser.commands import _diagnose, _followlines, _terminal
from diagnoser.commands._errors import CommandError

if TYPE_CHECKING:
    from diagnoser.commands._followloop import Face, Followed
    from diagnoser.commands._livescreen import Screen
    from diagnoser.contracts.findings import Report
    from diagnoser.following import Change, Follower
    from diagnoser.language import Say

#: Seconds between two pictures when nothing has changed.
_FRAME = 1.0
#: Seconds between two scrapes where nobody says.
_EVERY = 5.0
#: Options that ask for something that is not there while it goes on.
_UNFIT = ("since", "until", "baseline", "why", "why_not", "on")


def main(names: Sequence[str], args: argparse.Namespace) -> int:
    """Follow, tell, report; return the exit code."""
    addresses = _checked(names, args)
    files = [name for name in names if name not in addresses]
    live = None
    if addresses:
        from diagnoser.commands._live import Live

        # How long is this module's to say: scrapes go on as long as everything else.
        live = Live(addresses, [], argparse.Namespace(**{**vars(args), "length": None}))
    with _diagnose.lasting():
        from diagnoser.api import Knowledge
        from diagnoser.commands._followloop import Loop
        from diagnoser.commands._followworld import Stop
        from diagnoser.following import Follower

        options = _diagnose.api_options(args)
        knowledge = Knowledge(options)
    follower = Follower(knowledge, options, args.window, time.monotonic, time.process_time)
    notes = [] if args.quiet else [f"warning: {problem}" for problem in knowledge.base.problems]
    inputs: list[Followed] = []
    with Stop() as stop:
        try:
            inputs = [one for name in files for one in _begun(name, follower, notes)]
            if not inputs and live is None:
                told = ", ".join(files)
                raise CommandError(
                    f"nothing to follow: {told} is no log that grows; leave out --follow to read it once"
                )
            standing = live.standing(follower.wanted, args.every or _EVERY) if live is not None else None
            face = _face(names, args, knowledge.say)
            loop = Loop(follower, inputs, standing, notes, stop, args.exit_on, args.length)
            try:
                loop.run(face)
            finally:
                face.close()
        finally:
            for one in inputs:
                one.close()
    if stop.signal and not follower.lines and not loop.scrapes:
        return 128 + stop.signal
    code = _reported(follower.finish(), args, knowledge.say, isinstance(face, _Lines))
    return 1 if loop.hit else code


def _checked(names: Sequence[str], args: argparse.Namespace) -> list[str]:
    """Refuse what cannot be followed, and return the addresses among the inputs."""
    if not args.follow:
        raise CommandError("--exit-on is for --follow; without it --fail-on sets the exit code")
    for name in _UNFIT:
        if getattr(args, name):
            raise CommandError(
                f"--{name.replace('_', '-')} does not go with --follow; --window says how much is judged"
            )
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise CommandError(f"{'standard input (-)' if twice == '-' else twice} is named twice")
    return [name for name in names if "://" in name and not Path(name).exists()]


def _begun(name: str, follower: Follower, notes: list[str]) -> list[Followed]:
    """Begin with one file or pipe; what is no log is read to its end, once."""
    from diagnoser.commands._followworld import Pipe
    from diagnoser.following import Tail
    from diagnoser.sources import STDIN_NAME, Source
    from diagnoser.sources.part import Part
    from diagnoser.traces import reader_of

    path = Path(name)
    one: Followed
    if name == "-":
        if sys.stdin is None:
            raise CommandError("nothing to read: standard input is not available")
        one = Pipe(STDIN_NAME, sys.stdin.buffer)
    elif path.exists() and not path.is_file() and not path.is_dir():
        one = Pipe(name, path)
    else:
        if path.is_file():
            source = Source([Part(name, path=path)])
            if source.state == "ok" and source.kind not in ("log", "unknown") and reader_of(source) is not None:
                follower.read(source)
                return []
        one = Tail(name, notes.append)
    follower.follow(one.cutter)
    return [one]


def _face(names: Sequence[str], args: argparse.Namespace, say: Say) -> Face:
    if args.format == "json" or not _terminal.is_terminal(sys.stdout):
        return _Lines(args.quiet)
    from diagnoser.commands._livescreen import Screen
    from diagnoser.times import duration

    judged = say("all of it is judged")
    if args.window is not None:
        judged = say("the last {time} are judged").format(time=duration(args.window))
    options = _terminal.render_options(args.color, args.width, False, say=say)
    shown = [say("standard input") if name == "-" else name for name in names]
    screen = Screen(shown, judged, options, args.width is not None)
    return _Pictures(screen) if screen.able else _Words(say)


def _reported(report: Report, args: argparse.Namespace, say: Say, lines: bool) -> int:
    """Print the report where it does not stand between lines for programs; return the exit code."""
    if not lines or args.output not in (None, "-"):
        return _diagnose.print_report(report, args, say)
    from diagnoser.reports.summary import recognised

    if not recognised(report):
        _terminal.say("error: nothing in the input is the log or another trace of an inference server")
        return 2
    return _diagnose.exit_code(report, args.fail_on, args.exit_zero)


class _Lines:
    """One JSON line for each change, at once."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def take(self, changes: Sequence[Change]) -> None:
        for change in changes:
            _out(_followlines.for_programs(change, time.time()))

    def note(self, text: str) -> None:
        if not self._quiet:
            _terminal.say(text)

    def draw(self, follower: Follower, now: float) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing was taken."""


class _Words:
    """A sentence for each change, on a terminal that cannot be drawn on."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def take(self, changes: Sequence[Change]) -> None:
        for change in changes:
            _out(_followlines.for_people(change, self._say))

    def note(self, text: str) -> None:
        _terminal.say(text)

    def draw(self, follower: Follower, now: float) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing was taken."""


class _Pictures:
    """The live screen, drawn when something has changed and once a second."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._drawn = 0.0
        screen.open()

    def take(self, changes: Sequence[Change]) -> None:
        self._screen.take(changes)
        self._drawn = 0.0 if changes else self._drawn

    def note(self, text: str) -> None:
        self._screen.note(text)
        self._drawn = 0.0

    def draw(self, follower: Follower, now: float) -> None:
        if now - self._drawn >= _FRAME:
            self._drawn = now
            self._screen.draw(follower.report, follower.open(), follower.lines, follower.log_time, now)

    def close(self) -> None:
        self._screen.close()


def _out(text: str) -> None:
    """Write at once. Raises BrokenPipeError when nobody reads."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError:
        sys.stdout.write(text.encode("ascii", "backslashreplace").decode())
        sys.stdout.flush()
    except OSError as error:
        raise BrokenPipeError from error  # Windows says EINVAL
