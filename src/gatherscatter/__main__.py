"""``python -m gatherscatter`` and ``gatherscatter`` run the command line."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line. Without the extra ``cli``, print a line that says what to install."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C raises an exception only while a command runs
    try:
        from gatherscatter.cli import main as run
    except ImportError as error:
        print(f"gatherscatter: error: {error}", file=sys.stderr)
        sys.exit(2)
    run(prog_name="gatherscatter")


if __name__ == "__main__":
    main()
