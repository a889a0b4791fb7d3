"""A runtime that departs in two ways, for the tests of the search."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.ours import Arrays


class Twice(Arrays):
    """In scatters: ignores all updates if an index is negative, and raises for empty tensors."""

    title: ClassVar[str] = "departs twice"

    def source(self, case: Case) -> str:
        instead = {"negative": "got = data\n", "empty": "raise ValueError('empty')\n"}
        return super().source(case) + (instead.get(case.kind, "") if len(case.inputs) == 3 else "")
