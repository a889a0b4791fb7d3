"""Run the reproducer of a finding, or print it: ``python -m conformance.findings openvino-nan``."""

from __future__ import annotations

import argparse
import sys
import tempfile

from conformance.findings import reproducers


def main() -> int:
    """Do what the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance.findings", description="Reproduce a finding.")
    parser.add_argument("id", nargs="?", help="the id of the finding")
    parser.add_argument("--list", action="store_true", help="list the ids")
    parser.add_argument("--print", action="store_true", help="print the script, and do not run it")
    chosen = parser.parse_args()
    scripts = reproducers.scripts()
    if chosen.list:
        print("\n".join(scripts))
        return 0
    if chosen.id not in scripts:
        parser.error("the argument must be one of the ids that --list lists")
    if chosen.print:
        print(scripts[chosen.id], end="")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        done = reproducers.run(scripts[chosen.id], folder)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
