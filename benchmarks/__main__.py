"""``python -m benchmarks`` runs the benchmark."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the benchmark. If a package is missing, print a line that says what to install."""
    try:
        from benchmarks.command import command
    except ModuleNotFoundError as error:
        print(f"benchmarks: error: {error}: run pip install '.[cli]' --group benchmarks", file=sys.stderr)
        sys.exit(2)
    except ImportError as error:  # the error says what to install
        print(f"benchmarks: error: {error}", file=sys.stderr)
        sys.exit(2)
    command(prog_name="python -m benchmarks")


if __name__ == "__main__":
    main()
