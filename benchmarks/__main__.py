"""``python -m benchmarks`` runs the benchmark."""

from __future__ import annotations

from benchmarks.command import command

if __name__ == "__main__":
    command(prog_name="python -m benchmarks")
