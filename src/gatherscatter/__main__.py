"""``python -m gatherscatter`` is the ``gatherscatter`` command."""

from __future__ import annotations

from gatherscatter.cli import main

if __name__ == "__main__":
    main(prog_name="gatherscatter")
