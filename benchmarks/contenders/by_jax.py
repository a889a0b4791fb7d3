"""JAX on the CPU, compiled. The clock stops when the result is ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.workload import LANES, TUPLES, row_view
from gatherscatter.explaining.library_code.by_jax import METHODS


class JaxContender(Contender):
    """Indexing and ``.at[]`` under ``jit``, in the default mode and with a promise that indices are in bounds."""

    name = "jax"

    def __init__(self, threads: int) -> None:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        self._jax: Any = import_module("jax")
        self._jax.config.update("jax_enable_x64", True)  # otherwise int64 and float64 are reduced to 32 bits
        self._jnp: Any = import_module("jax.numpy")

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return two modes. In-place scatters donate data."""
        workload = case.workload
        if workload.form in ("gather_tree", "tensor_scatter") or (workload.is_gather and workload.out):
            return {}
        if not workload.is_gather and workload.reduction not in METHODS:
            return {}
        modes = {"default": None, "promise_in_bounds": "promise_in_bounds"}
        if workload.distribution == "negatives":
            del modes["promise_in_bounds"]
        return {name: replace(self._call(case, mode), compiles=True) for name, mode in modes.items()}

    def _call(self, case: BenchCase, mode: str | None) -> TimedCall:
        jax, put = self._jax, self._jnp.asarray
        if case.workload.form == "gather_reduce":
            return self._reduce(case, mode)
        function = self._function(case, mode)
        indices = put(case.indices[:, :1] if case.workload.layout == "expanded" else case.indices)
        if case.workload.is_gather:
            compiled, data = jax.jit(function), case.data
            if data.flags.c_contiguous:
                data = put(data)
            return TimedCall(
                lambda: compiled(data, indices).block_until_ready()
            )  # the call makes strided arrays contiguous
        new = put(case.new)
        if not case.workload.out:
            compiled, data = jax.jit(function), put(case.data)
            return TimedCall(lambda: compiled(data, indices, new).block_until_ready())
        compiled = jax.jit(function, donate_argnums=0)
        kept = [self._jnp.array(case.data, copy=True)]

        def again() -> Any:
            kept[0] = compiled(kept[0], indices, new).block_until_ready()
            return kept[0]

        def reset() -> None:
            kept[0] = self._jnp.array(case.data, copy=True)

        return TimedCall(again, lambda result: np.array(result), reset)

    def _reduce(self, case: BenchCase, mode: str | None) -> TimedCall:
        """Gather and weight rows, then reduce them along an axis or by segment."""
        jax, jnp, workload, how = self._jax, self._jnp, case.workload, case.workload.reduction
        packed = workload.grouping == "packed"
        options = {"num_segments": workload.bags, "indices_are_sorted": workload.is_grouped}

        def reduce(data: Any, indices: Any, ids: Any, weights: Any) -> Any:
            rows = data.at[indices].get(mode=mode)
            if weights is not None:
                rows = rows * weights[..., None]
            if packed:
                return getattr(rows, {"add": "sum"}.get(how, how))(1)
            if how == "max":
                found = jax.ops.segment_max(rows, ids, **options)
                return jnp.where(jnp.isneginf(found), 0, found)
            sums = jax.ops.segment_sum(rows, ids, **options)
            if how == "add":
                return sums
            counts = jax.ops.segment_sum(jnp.ones(len(ids), data.dtype), ids, **options)
            return sums / jnp.maximum(counts, 1)[:, None]

        indices, ids, weights = case.indices, case.segment_ids, case.weights
        if workload.is_grouped and not packed:
            _, indices, weights = case.grouped
            ids = np.sort(ids)
        given = [None if array is None else self._jnp.asarray(array) for array in (case.data, indices, ids, weights)]
        compiled = jax.jit(reduce)
        return TimedCall(lambda: compiled(*given).block_until_ready())

    def _function(self, case: BenchCase, mode: str | None) -> Callable[..., Any]:
        method = METHODS[case.workload.reduction]

        def read(data: Any, indices: Any) -> Any:
            return data.at[self._key(case, indices)].get(mode=mode)

        def write(data: Any, indices: Any, new: Any) -> Any:
            return getattr(data.at[self._key(case, indices)], method)(new, mode=mode)

        return read if case.workload.is_gather else write

    def _key(self, case: BenchCase, indices: Any) -> tuple[Any, ...]:
        workload, jnp = case.workload, self._jnp
        if workload.form in LANES:
            indices = jnp.broadcast_to(indices, workload.indices)
            rank = len(workload.indices)
            grid = [jnp.arange(n).reshape(-1, *[1] * (rank - 1 - d)) for d, n in enumerate(workload.indices)]
            return tuple(indices if d == workload.axis else numbers for d, numbers in enumerate(grid))
        tuples = workload.form in TUPLES
        rank = indices.ndim - tuples
        sizes = workload.indices[: workload.batch_dims]
        batches = [jnp.arange(n).reshape(-1, *[1] * (rank - 1 - d)) for d, n in enumerate(sizes)]
        if tuples:
            return (*batches, *(indices[..., d] for d in range(len(row_view(workload)[2]))))
        return (*batches, *[slice(None)] * (workload.axis - workload.batch_dims), indices)
