"""Where `diagnose` and `python -m diagnoser` begin: nothing is imported before somebody listens for Ctrl-C."""

import sys


def main() -> int:
    """Run `diagnose` and return its exit code."""
    return _run("main")


def kubectl() -> int:
    """Run what kubectl runs for `kubectl diagnose-llm`, and return its exit code."""
    return _run("kubectl_plugin")


def _run(program: str) -> int:
    try:
        from diagnoser import cli

        code: int = getattr(cli, program)()
        cli.leave(code)
        return code
    except KeyboardInterrupt:  # while that was imported, or a second one while the first is answered
        return 130


if __name__ == "__main__":
    sys.exit(main())
