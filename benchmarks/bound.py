"""The least time that a workload can take on this machine, from the machine's limits."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from benchmarks.limits import Limits
from benchmarks.workload import LANES, Workload, numpy_dtype, row_view

RANDOM = ("uniform", "permutation", "negatives")
_CALL = 1 << 13  # bytes below which the call itself takes most of the time


@dataclass(frozen=True)
class Bound:
    """The limit that applies, and the least time that it allows, in seconds."""

    kind: str  # "stream", "random" or "call"; "-" for a model, whose limit is unknown
    seconds: float


def compute_bound(workload: Workload, limits: Limits) -> Bound:
    """Return the larger time of moving all bytes in order and of random access, plus the cost of fresh memory.

    Reads and writes at random positions count as random reads. Indices that repeat or are sorted are not random access,
    so their bound is the stream.

    A gather_reduce reads the row of each member once and writes the result. The rows of uniform members can be anywhere
    in data. All other rows may be in the fastest cache.
    """
    if workload.is_model:
        return Bound("-", 0.0)
    moved = traffic(workload)
    if moved < _CALL or workload.form == "gather_tree":
        return Bound("call", 0.0)
    fresh = 0.0 if workload.out else limits.fresh_seconds(_output(workload))
    stream = _stream_seconds(workload, limits, moved)
    reads, width, reach = _positions(workload)
    random = limits.random_seconds(reads, min(width, 64), reach) if workload.distribution in RANDOM else 0.0
    if random > stream:
        return Bound("random", random + fresh)
    return Bound("stream", stream + fresh)


def _stream_seconds(workload: Workload, limits: Limits, moved: int) -> float:
    if workload.form != "gather_reduce":
        return limits.stream_seconds(moved)
    rows = workload.read_bytes
    within = workload.data_bytes if workload.distribution in RANDOM else 0
    return limits.stream_seconds(rows, within) + limits.stream_seconds(moved - rows)


def traffic(workload: Workload) -> int:
    """Return the bytes that must be read or written, each counted once."""
    slots = workload.useful_bytes
    column = prod(workload.indices[:1]) if workload.layout == "expanded" else prod(workload.indices)
    indices = column * numpy_dtype(workload.index_dtype).itemsize
    if workload.form == "gather_reduce":
        members = prod(workload.indices)
        named = {"packed": 0, "offsets": workload.bags, "segments": members}[workload.grouping]
        bags = named * numpy_dtype(workload.index_dtype).itemsize
        weights = members * workload.itemsize if workload.weighted else 0
        return indices + bags + weights + workload.read_bytes + _output(workload)
    if workload.is_statistic:
        return indices + slots + _output(workload)
    if workload.is_gather:
        return indices + min(workload.read_bytes, workload.data_bytes) + slots
    if workload.out:
        return indices + slots + min(slots, workload.data_bytes) * (1 if workload.reduction == "none" else 2)
    return indices + slots + 2 * workload.data_bytes


def _output(workload: Workload) -> int:
    return prod(workload.result) * workload.itemsize


def _positions(workload: Workload) -> tuple[int, int, int]:
    """Return the number of positions, the bytes at each, and the bytes over which they are scattered."""
    item, data = workload.itemsize, workload.data
    if workload.layout in ("expanded", "repeated"):  # whole rows, though each element has an index
        rows, width = workload.indices[0], prod(workload.indices[1:]) * item
        return rows, width, data[0] * width
    if workload.form in LANES:
        return prod(workload.indices), item, prod(data[workload.axis :]) * item
    if workload.form == "tensor_scatter":
        return prod(data[:-2]), workload.window * data[-1] * item, workload.data_bytes
    _, _, dims, width = row_view(workload)
    if workload.bits:
        return prod(workload.slots) // width, workload.data_bytes // prod(dims), workload.data_bytes
    return prod(workload.slots) // max(width, 1), width * item, prod(dims) * width * item
