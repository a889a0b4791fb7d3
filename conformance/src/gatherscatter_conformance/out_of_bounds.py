"""Detect results that contain memory outside the arrays of the call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gatherscatter import specs
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Outputs, Returned, Runs, raw


def out_of_bounds_memory(case: Case, runs: Sequence[Runs]) -> str:
    """Return why a result must contain out-of-bounds memory, or ''.

    Each worker fills unused memory with its own byte. A result was read from there if it contains the filling, or if it
    is the same in all runs of a worker but different in the other worker. If threads can't race, a result that changes
    has no other source either.
    """
    for each in runs:
        for one in each.seen:
            if isinstance(one, Returned) and one.damage:
                return one.damage
            if isinstance(one, Returned) and _holds_filling(case, one.outputs, each.fill):
                return f"the result holds bytes 0x{each.fill:02X} with which unused memory was filled"
    results = [[raw(one.outputs) for one in each.seen if isinstance(one, Returned)] for each in runs]
    workers = [set(each) for each in results if each]
    everything = set().union(*workers)
    if len(everything) < 2:
        return ""
    if all(len(each) == 1 for each in workers) and min(map(len, results)) > 1:
        return "the result depends on the bytes with which unused memory is filled"
    if case.expected is None or not specs.op(case.op).kernel.is_scatter:
        return f"{len(everything)} different results in {sum(map(len, results))} runs, although threads can't race"
    return ""


def _holds_filling(case: Case, outputs: Outputs, fill: int) -> bool:
    """Whether an element consists of the filling only. Single bytes could be equal by chance, so they do not count."""
    given = [*(array for array in case.inputs if array is not None), *(case.expected or ())]
    for output in outputs:
        size = output.dtype.itemsize
        if output.dtype.kind == "O" or size < 2:
            continue
        filling = bytes([fill]) * size
        if filling in _elements(output) and not any(filling in _elements(array) for array in given):
            return True
    return False


def _elements(array: np.ndarray) -> set[bytes]:
    if array.dtype.kind == "O":
        return set()
    raw, size = array.tobytes(), array.dtype.itemsize
    return {raw[at : at + size] for at in range(0, len(raw), size)}
