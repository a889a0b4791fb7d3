"""Print what the contract tests, and why not all of it: ``python -m tests.contract``."""

from __future__ import annotations

from tests.contract.matrix import format_matrix

if __name__ == "__main__":
    print(format_matrix())
