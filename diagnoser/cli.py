"""The command line: arguments to exit code. Every message and every exit of the program passes through here.

Imports are late on purpose: `diagnose --version` and shell prompts around it must cost nothing.
"""

from __future__ import annotations

import os
import sys

# As in the package: typing and collections take longer than what is done here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: Nothing at or above --fail-on, findings, could not run, interrupted (128 + SIGINT).
OK, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; no exception leaves it."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        # No matrix is multiplied here, and to start numpy's threads for it takes as long as reading a short log.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.unraisablehook = _Again()
    try:
        if arguments[:1] in (["-V"], ["--version"]):
            from diagnoser import __version__

            sys.stdout.write(f"diagnose {__version__}\n")
            code = OK
        else:
            code = _dispatch(arguments)
        _flush()
        if argv is None:
            _deaf()
        return code
    except SystemExit as end:  # argparse after --help
        return _after_help(end)
    except KeyboardInterrupt:
        return _interrupted(argv is None)
    except BrokenPipeError:
        # The reader has what it wanted (`| head`). What it did not read was no error.
        _drop_output()
        return OK
    except Exception as error:
        return _interrupted(argv is None) if _hides_interrupt(error) else _failed(error, arguments)


def _interrupted(ends: bool) -> int:
    if ends:
        _deaf()
    _drop_output()
    # An interrupt that left `exec`, where data classes are made, is remembered by the interpreter, which would end
    # by the signal and not with a code; running any text makes it forget.
    eval("0")
    return INTERRUPTED


def _hides_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: Python 3.11 wraps what is raised while a class is being made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _deaf() -> None:
    """Let the interpreter end in peace: all is written, and Ctrl-C would only add its traceback."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(code: int) -> None:
    """End the process now, if nobody else is at work in it: to take all objects apart takes longer than to judge them.

    For the start of the program alone: whoever calls ``main`` has more to do.
    """
    threading = sys.modules.get("threading")
    if (threading is not None and threading.active_count() > 1) or sys.gettrace() or sys.getprofile():
        return
    import atexit

    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter says what it always says of such a stream
    os._exit(code)


class _Again:
    """Interrupt again where Ctrl-C came while an object was destroyed: what is raised there is told and forgotten."""

    def __init__(self) -> None:
        self._waits = False

    def __call__(self, lost: Any) -> None:
        import _thread

        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
        elif not self._waits:
            self._waits = True
            _thread.start_new_thread(self._interrupt, ())

    def _interrupt(self) -> None:
        import _thread
        import time

        time.sleep(0.01)  # not at once: it would be lost in the same place
        self._waits = False
        _thread.interrupt_main()


def _dispatch(arguments: list[str]) -> int:
    from diagnoser import commands

    if arguments and arguments[0] in commands.names():
        return commands.load(arguments[0]).main(arguments[1:])
    from diagnoser.commands import _diagnose

    return _diagnose.main(arguments)


def _after_help(end: SystemExit) -> int:
    try:
        _flush()
    except BrokenPipeError:
        _drop_output()
    return end.code if isinstance(end.code, int) else OK


def _failed(error: Exception, arguments: list[str]) -> int:
    from diagnoser.commands import _errors

    verbose = any(argument in ("-v", "--verbose") for argument in arguments)
    _say(_errors.message(error))
    if not _errors.expected(error):
        if verbose:
            import traceback

            _say("".join(traceback.format_exception(error)).rstrip())
        else:
            _say("this is a defect of diagnose, not of your log; run with -v for the traceback")
    _drop_output()
    return FAILED


def _say(text: str) -> None:
    """Write to standard error, which may be closed too."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    from diagnoser.commands._terminal import drop_output

    drop_output()


def kubectl_plugin() -> int:
    """`kubectl-diagnose_llm`: what kubectl runs for `kubectl diagnose-llm`."""
    return main(["kube", *sys.argv[1:]])
