"""Call ``gather_reduce`` and the functions of its gradients: immediately, under ``vmap``, or from compiled programs.

Compiled programs call back into Python.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from gatherscatter.arrays.jax_arrays import JAX
from gatherscatter.errors import OpIndexError, integer_fault, make_error
from gatherscatter.functions import bag_gradients, gather_reduce
from gatherscatter.jax import ffi
from gatherscatter.jax.calls import Shape, call_back, is_traced, run_immediately, varying_like
from gatherscatter.operation import Bags, Kernel, Operation
from gatherscatter.system.pieces import extremes

OP = "gather_reduce"
Arrays = dict[str, Any]


class BagCall(Protocol):
    """A function of named NumPy arrays. It is static: JAX uses it as a key to find compiled programs."""

    def on_numpy(self, **arrays: Any) -> np.ndarray: ...

    def result(self, arrays: Arrays) -> Any:
        """Return the shape and type of the result, from those of the arrays."""


@dataclass(frozen=True)
class BagReduction:
    """Gathers the rows of bags and reduces them."""

    operation: Operation

    @property
    def num_segments(self) -> int | None:
        return self.operation.bags.num_segments if self.operation.bags else None

    def with_segments(self, num_segments: int | None) -> BagReduction:
        return BagReduction(self.operation._replace(bags=Bags(num_segments)))

    def on_numpy(self, default: Any = 0, **arrays: Any) -> np.ndarray:
        return gather_reduce.run(self.operation, arrays, default=default)

    def result(self, arrays: Arrays) -> Any:
        data = arrays["data"]
        return _describe(self.bags(arrays) + data.shape[1:], data.dtype)

    def bags(self, arrays: Arrays) -> Shape:
        """Return the dimensions of the result that are bags."""
        if "segment_ids" in arrays:
            assert self.num_segments is not None
            return (self.num_segments,)
        if "indptr" in arrays:
            return (arrays["indptr"].shape[0] - 1,)
        bags: Shape = arrays["offsets"].shape if "offsets" in arrays else arrays["indices"].shape[:-1]
        return bags

    def by_ffi(self, arrays: Arrays) -> Any:
        """Return the result in a traced program, which calls the kernel without Python."""
        target: Any = jax.ffi.ffi_call(ffi.BAG_TARGET, self.result(arrays))
        return target(
            *arrays.values(),
            inputs=",".join(arrays),
            num_segments=np.int64(-1 if self.num_segments is None else self.num_segments),
            **ffi.attributes(self.operation),
        )


def reduce_members(**fields: Any) -> BagReduction:
    """Return a reduction of bags with these fields of an `Operation`. By default, it adds up."""
    return BagReduction(Operation(OP, Kernel.GATHER_REDUCE, **{"reduction": "add"} | fields))


@dataclass(frozen=True)
class MemberNumbering:
    """Finds the bag of each member, from ``offsets``, ``indptr`` or ``segment_ids``."""

    members: int
    num_segments: int | None
    negative: str = "end"

    def on_numpy(self, **bags: Any) -> np.ndarray:
        ones = np.ones(self.members, np.int64)
        reduction = reduce_members(bags=Bags(self.num_segments), negative=self.negative)
        counts = reduction.on_numpy(data=ones, **bags)  # checks the bags
        if "segment_ids" in bags:
            return np.asarray(bags["segment_ids"])
        return np.repeat(np.arange(len(counts), dtype=self.result(bags).dtype), counts)

    def result(self, arrays: Arrays) -> Any:
        if "segment_ids" in arrays:
            return _describe((self.members,), arrays["segment_ids"].dtype)
        dtype = _count_type(arrays["indptr" if "indptr" in arrays else "offsets"].shape[0])
        return _describe((self.members,), dtype)


@dataclass(frozen=True)
class MatchSum:
    """Adds up the ``values`` whose ``keys`` are equal to ``targets``, or counts them if there are no values."""

    num_threads: int | None = None

    def on_numpy(self, **arrays: Any) -> np.ndarray:
        made = bag_gradients.sum_matches(**{"values": None} | arrays, num_threads=self.num_threads)
        return made.astype(self.result(arrays).dtype, copy=False)

    def result(self, arrays: Arrays) -> Any:
        values, members = arrays.get("values"), arrays["rows"].shape[0]
        return _describe(arrays["targets"].shape, _count_type(members + 1) if values is None else values.dtype)


@dataclass(frozen=True)
class RowDots:
    """Multiplies and adds up pairs of rows of ``a`` and ``b``."""

    num_threads: int | None = None

    def on_numpy(self, **arrays: Any) -> np.ndarray:
        return bag_gradients.dot_rows(**arrays, num_threads=self.num_threads)

    def result(self, arrays: Arrays) -> Any:
        return _describe(arrays["rows_of_a"].shape, arrays["a"].dtype)


@dataclass(frozen=True)
class BatchOfCalls:
    """Makes the calls for the entries of a batch, one after the other. ``batched`` arrays have one more dim."""

    call: BagCall
    size: int
    batched: frozenset[str]

    def on_numpy(self, **arrays: Any) -> np.ndarray:
        expected = self.result(arrays)
        made = np.empty(expected.shape, expected.dtype)
        for entry in range(self.size):
            taken = {name: array[entry] if name in self.batched else array for name, array in arrays.items()}
            made[entry] = self.call.on_numpy(**taken)
        return made

    def result(self, arrays: Arrays) -> Any:
        one = self.call.result(
            {name: _describe(a.shape[name in self.batched :], a.dtype) for name, a in arrays.items()}
        )
        return _describe((self.size, *one.shape), one.dtype)


def _describe(shape: Shape, dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


def _count_type(size: int) -> Any:
    """Return the type for numbers below a size. JAX has int64 only if it is switched on."""
    return np.int32 if size < 2**31 else np.int64


def run(call: BagCall, arrays: Arrays) -> Any:
    """Return the result of a call, on concrete or traced arrays."""
    if not is_traced(*arrays.values()):
        return run_immediately(OP, call.on_numpy, arrays)

    @custom_vmap
    def one(arrays: Arrays) -> Any:
        if isinstance(call, BagReduction) and ffi.is_available():
            return varying_like(tuple(arrays.values()), call.by_ffi(arrays))
        return call_back(call, call.result(arrays), arrays)

    @one.def_vmap
    def many(size: int, batched: list[dict[str, bool]], arrays: Arrays) -> tuple[Any, bool]:
        names = frozenset(name for name, is_batched in batched[0].items() if is_batched)
        if isinstance(call, BagReduction) and _is_one_call(names, arrays):
            # The bags of a batch are additional bags of one call.
            whole = {n: jnp.broadcast_to(arrays[n], (size, *arrays[n].shape)) for n in _MEMBERS & arrays.keys() - names}
            return run(call, arrays | whole), True
        return run(BatchOfCalls(call, size, names), arrays), True

    return one(arrays)


_MEMBERS = frozenset(("indices", "weights"))


def _is_one_call(batched: frozenset[str], arrays: Arrays) -> bool:
    """Whether all entries of a batch take rows from the same data, and bags are the last dim of indices."""
    return batched <= _MEMBERS and not arrays.keys() & {"offsets", "segment_ids", "indptr"}


def normalise(call: BagReduction, arrays: Arrays) -> BagReduction:
    """Return the call with the number of segments. Raise the errors that the array function would raise."""
    if not isinstance(call.num_segments, int | np.integer | None):
        integer_fault(OP, "num_segments", call.num_segments)
    ids = arrays.get("segment_ids")
    if ids is not None and call.num_segments is None:
        if is_traced(ids):
            raise make_error("num_segments_needed", OP)
        line = (JAX.take(OP, "segment_ids", ids) if isinstance(ids, jax.Array) else ids).reshape(-1)
        call = call.with_segments(max(extremes(line)[1] + 1, 0) if line.size else 0)
    _check(call, arrays)
    return call.with_segments(None if call.num_segments is None else int(call.num_segments))


def _check(call: BagReduction, arrays: Arrays) -> None:
    """Check types, attributes and shapes by calling the array function with zeros instead of values."""
    data, default = arrays["data"], {name: array for name, array in arrays.items() if name == "default"}
    rows = np.empty((0, *data.shape[1:]) if data.shape else (), data.dtype)
    none = np.empty((0, 1), np.int32)
    call.with_segments(None).on_numpy(data=rows, indices=none, **_zeros(default))
    bags = {name: array for name, array in arrays.items() if name not in ("data", "default")}
    values = _zeros(bags)
    if "indptr" in values and values["indptr"].shape[:1] > (0,):
        values["indptr"] = values["indptr"].copy()
        values["indptr"][-1] = arrays["indices" if "indices" in arrays else "data"].shape[0]
    with suppress(OpIndexError):  # zeros can be out of range where the values are not
        call.on_numpy(data=np.empty((data.shape[0], 0), data.dtype), **values)


def _zeros(arrays: Arrays) -> Arrays:
    return {name: np.broadcast_to(np.zeros((), array.dtype), array.shape) for name, array in arrays.items()}
