"""``python -m gatherscatter`` and ``gatherscatter`` run the command line."""

from __future__ import annotations

import signal
import sys

# Ctrl-C ends the process without a traceback until a command runs (`gatherscatter.cli.group`). Imports come first.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Run the command line. Without the extra ``cli``, print a line that says what to install."""
    try:
        from gatherscatter.cli import main as run
    except ImportError as error:
        print(f"gatherscatter: error: {error}", file=sys.stderr)
        sys.exit(2)
    run(prog_name="gatherscatter")


if __name__ == "__main__":
    main()
