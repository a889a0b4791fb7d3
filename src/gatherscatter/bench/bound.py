"""The least time that a workload can take on this machine, from the machine's limits."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gatherscatter.bench.limits import Limits
from gatherscatter.bench.workload import LANES, Workload, numpy_dtype, row_view

RANDOM = ("uniform", "permutation", "negatives")
_CALL = 1 << 13  # bytes below which the call itself is what costs


@dataclass(frozen=True)
class Bound:
    """Which limit applies and the seconds that it allows."""

    kind: str  # "stream", "random" or "call"
    seconds: float


def compute_bound(workload: Workload, limits: Limits) -> Bound:
    """The larger of moving all bytes in order and reaching all places at random; and the cost of fresh memory.

    Reads and writes at random places count as random reads. Indices that repeat or come in order are no random
    access: their bound is the stream.
    """
    moved = traffic(workload)
    if moved < _CALL or workload.form == "gather_tree":
        return Bound("call", 0.0)
    fresh = 0.0 if workload.out else limits.fresh_seconds(_output(workload))
    stream = limits.stream_seconds(moved)
    reads, width, reach = _places(workload)
    random = limits.random_seconds(reads, min(width, 64), reach) if workload.distribution in RANDOM else 0.0
    if random > stream:
        return Bound("random", random + fresh)
    return Bound("stream", stream + fresh)


def traffic(workload: Workload) -> int:
    """Bytes that must be read or written, each once."""
    slots = workload.useful_bytes
    column = prod(workload.indices[:1]) if workload.layout == "expanded" else prod(workload.indices)
    indices = column * numpy_dtype(workload.index_dtype).itemsize
    if workload.is_gather:
        return indices + min(slots, workload.data_bytes) + slots
    if workload.out:
        return indices + slots + min(slots, workload.data_bytes) * (1 if workload.reduction == "none" else 2)
    return indices + slots + 2 * workload.data_bytes


def _output(workload: Workload) -> int:
    return workload.useful_bytes if workload.is_gather else workload.data_bytes


def _places(workload: Workload) -> tuple[int, int, int]:
    """How many places are reached, the bytes at each, and the bytes over which they lie scattered."""
    item, data = workload.itemsize, workload.data
    if workload.layout in ("expanded", "repeated"):  # whole rows, though each element has an index
        rows, width = workload.indices[0], prod(workload.indices[1:]) * item
        return rows, width, data[0] * width
    if workload.form in LANES:
        return prod(workload.indices), item, prod(data[workload.axis :]) * item
    if workload.form == "tensor_scatter":
        return prod(data[:-2]), workload.window * data[-1] * item, workload.data_bytes
    _, _, dims, width = row_view(workload)
    return prod(workload.slots) // max(width, 1), width * item, prod(dims) * width * item
