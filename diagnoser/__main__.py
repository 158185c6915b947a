"""`python -m diagnoser` is `diagnose`."""

import sys

from diagnoser.cli import main

if __name__ == "__main__":
    sys.exit(main())
