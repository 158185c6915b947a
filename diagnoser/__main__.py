"""`python -m diagnoser` is `diagnose`."""

import sys

if __name__ == "__main__":
    try:
        from diagnoser.cli import main

        code = main()
    except KeyboardInterrupt:  # before anybody listens
        code = 130
    sys.exit(code)
