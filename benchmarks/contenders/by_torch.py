"""PyTorch, with every function that fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import BenchCase
from benchmarks.contenders.contender import Contender, TimedCall
from benchmarks.quantized import QuantizedTable
from benchmarks.workload import LANES, TUPLES, row_view
from gatherscatter.explaining.library_code.by_pytorch import REDUCTIONS

Change = Callable[[Any], object]


class TorchContender(Contender):
    """index_select, gather, take, embedding; index_copy_, index_add_, index_put_, scatter_reduce_, ..."""

    name = "torch"

    def __init__(self, threads: int) -> None:
        self._torch: Any = import_module("torch")
        self._torch.set_num_threads(threads)
        for message in ("index_reduce", "Sparse CSR tensor support", "Sparse invariant checks"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)

    def calls(self, case: BenchCase) -> Mapping[str, TimedCall]:
        """Return all ways. A trial shows which of them PyTorch refuses."""
        data = self._borrow(case.data)
        indices = self._borrow(case.indices)
        if case.workload.is_gather:
            reduces = case.workload.form == "gather_reduce"
            ways = (self._reductions if reduces else self._gathers)(case, data, indices)
            return {name: TimedCall(run, self._give_back) for name, run in ways.items()}
        new = self._borrow(case.new)
        return {name: self._scatter(case, data, change) for name, change in self._changes(case, indices, new).items()}

    def table_calls(self, case: BenchCase, table: QuantizedTable) -> Mapping[str, TimedCall]:
        """Return FBGEMM's bags of rows with a scale and a bias each, which PyTorch contains."""
        names = {4: "embedding_bag_4bit_rowwise_offsets", 8: "embedding_bag_byte_rowwise_offsets"}
        if case.workload.form != "gather_reduce" or table.scales.shape[-1] > 1 or table.bits not in names:
            return {}
        bag = getattr(self._torch.ops.quantized, names[table.bits])
        rows = self._borrow(_fuse_rows(table))
        indices, offsets = self._borrow(case.indices), self._borrow(case.grouped.starts)
        weights = None if case.weights is None else self._borrow(case.weights)
        options = {"mode": 0, "per_sample_weights": weights, "include_last_offset": True}
        return {names[table.bits]: TimedCall(lambda: bag(rows, indices, offsets, **options), self._give_back)}

    def _scatter(self, case: BenchCase, data: Any, change: Change) -> TimedCall:
        form = self._torch.contiguous_format
        if not case.workload.out:

            def fresh() -> Any:
                result = data.clone(memory_format=form)
                change(result)
                return result

            return TimedCall(fresh, self._give_back)
        target = self._borrow(case.target)

        def again() -> Any:
            change(target)
            return target

        return TimedCall(again, self._give_back, lambda: target.copy_(data))

    def _gathers(self, case: BenchCase, data: Any, indices: Any) -> dict[str, Callable[[], Any]]:
        torch, workload, axis = self._torch, case.workload, case.workload.axis
        out = torch.empty(workload.slots, dtype=data.dtype) if workload.out else None
        short = indices.dtype not in (torch.int64, torch.int32)
        select = indices.long() if short else indices  # only for a legal example; the call converts
        ways: dict[str, Callable[[], Any]] = {}
        if workload.form == "gather_elements":
            return {"gather": lambda: torch.gather(data, axis, indices, out=out)}
        if workload.form == "gather" and not workload.batch_dims:
            flat_out = None if out is None else out.view(*data.shape[:axis], -1, *data.shape[axis + 1 :])
            flat = select.reshape(-1)

            def index_select() -> Any:
                chosen = indices.reshape(-1).long() if short else flat
                return torch.index_select(data, axis, chosen, out=flat_out).view(workload.slots)

            ways["index_select"] = index_select
            if out is None:
                key = (*[slice(None)] * axis, select)
                ways["fancy"] = (lambda: data[(*key[:-1], indices.long())]) if short else (lambda: data[key])
                if data.ndim == 2 and axis == 0 and data.is_floating_point():
                    ways["embedding"] = lambda: torch.nn.functional.embedding(indices.long() if short else select, data)
            if data.ndim == 1:
                ways["take"] = lambda: torch.take(data, indices.long(), out=out)
            return ways
        if out is None and workload.form in ("gather", "gather_nd"):
            ways["fancy"] = lambda: data[self._key(case, indices)]
        if workload.form == "gather_nd" and not workload.batch_dims:
            width = row_view(workload)[3]
            rows = data.reshape(-1, width)
            flat_out = None if out is None else out.view(-1, width)
            ways["row numbers"] = lambda: torch.index_select(rows, 0, self._numbers(case, indices), out=flat_out).view(
                workload.slots
            )
        return ways

    def _reductions(self, case: BenchCase, data: Any, indices: Any) -> dict[str, Callable[[], Any]]:
        """Return embedding_bag, products with a CSR matrix, and rows that are gathered and added.

        If members are not grouped, the call includes sorting them.
        """
        torch, workload, how = self._torch, case.workload, case.workload.reduction
        bag, mode = torch.nn.functional.embedding_bag, {"add": "sum"}.get(how, how)
        weights = None if case.weights is None else self._borrow(case.weights)
        ids = self._borrow(case.segment_ids)
        kept = [None if array is None else self._borrow(array) for array in case.grouped]

        def group() -> list[Any]:
            if workload.is_grouped:
                return kept
            starts = torch.zeros(workload.bags + 1, dtype=ids.dtype)
            torch.cumsum(torch.bincount(ids, minlength=workload.bags), 0, out=starts[1:])
            order = torch.argsort(ids, stable=True)
            return [starts, indices[order], None if weights is None else weights[order]]

        def make_matrix() -> Any:
            starts, rows, values = group()
            values = torch.ones(len(rows), dtype=data.dtype) if values is None else values
            return torch.sparse_csr_tensor(starts, rows, values, (workload.bags, len(data)), check_invariants=False)

        def reduce_bags() -> Any:
            starts, rows, values = group()
            return bag(rows, data, starts, mode=mode, per_sample_weights=values, include_last_offset=True)

        matrix = make_matrix()
        get_matrix: Callable[[], Any] = (lambda: matrix) if workload.is_grouped else make_matrix
        ways: dict[str, Callable[[], Any]] = {"embedding_bag": reduce_bags}
        if workload.grouping == "packed":
            ways["embedding_bag"] = lambda: bag(indices, data, mode=mode, per_sample_weights=weights)
        if how == "add":
            ways["sparse.mm"] = lambda: torch.sparse.mm(get_matrix(), data)
        ways["sparse.mm, reduce"] = lambda: torch.sparse.mm(get_matrix(), data, REDUCTIONS[how])
        if not workload.is_grouped:

            def add() -> Any:
                rows = data.index_select(0, indices)
                rows = rows if weights is None else rows.mul_(weights[:, None])
                sums = torch.zeros(workload.result, dtype=data.dtype)
                if how == "add":
                    return sums.index_add_(0, ids, rows)
                return sums.index_reduce_(0, ids, rows, REDUCTIONS[how], include_self=False)

            ways["index_select, index_add_"] = add
        return ways

    def _key(self, case: BenchCase, indices: Any) -> tuple[Any, ...]:
        rank = indices.ndim - (case.workload.form in TUPLES)
        shape = case.indices.shape[: case.workload.batch_dims]
        batches = [self._torch.arange(n).view(-1, *[1] * (rank - 1 - d)) for d, n in enumerate(shape)]
        if case.workload.form == "gather":
            return (*batches, indices.long())
        return (*batches, *indices.long().unbind(-1))

    def _numbers(self, case: BenchCase, indices: Any) -> Any:
        """Return index tuples as row numbers."""
        columns = indices.reshape(-1, indices.shape[-1]).unbind(-1)
        numbers = columns[0].long()
        for column, size in zip(columns[1:], row_view(case.workload)[2][1:], strict=True):
            numbers = numbers * size + column
        return numbers

    def _changes(self, case: BenchCase, indices: Any, new: Any) -> dict[str, Change]:
        form, how = case.workload.form, case.workload.reduction
        if form == "tensor_scatter":
            return {"slices": lambda target: _write_windows(target, case, new)}
        if form in LANES:
            return _lane_changes(case.workload.axis, how, indices, new)
        changes: dict[str, Change] = {}
        if form == "scatter_nd":
            if how in ("none", "add"):
                put = how == "add"
                changes["index_put_"] = lambda a: a.index_put_(self._key(case, indices), new, accumulate=put)
            width = row_view(case.workload)[3]
            lines = new.reshape(-1, width)
            change = _row_change(0, how)
            if change is not None:
                changes["row numbers"] = lambda a: change(a.view(-1, width), self._numbers(case, indices), lines)
            return changes
        whole = _row_change(case.workload.axis, how)
        if whole is not None and indices.ndim == 1:
            changes[f"index, {how}"] = lambda a: whole(a, indices, new)
        if how != "none" and how in REDUCTIONS and case.workload.axis == 0 and indices.ndim == 1 and new.ndim <= 2:
            changes["scatter_reduce_"] = lambda a: a.scatter_reduce_(
                0, indices.long().view(-1, *[1] * (new.ndim - 1)).expand_as(new), new, REDUCTIONS[how]
            )
        return changes

    def _borrow(self, array: np.ndarray) -> Any:
        """Return a tensor on the same memory."""
        if array.dtype.name == "bfloat16":
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an expanded index is read-only
            return self._torch.from_numpy(array)

    def _give_back(self, tensor: Any) -> np.ndarray:
        if tensor.dtype == self._torch.bfloat16:
            import ml_dtypes

            bits: np.ndarray = tensor.view(self._torch.int16).numpy()
            return bits.view(ml_dtypes.bfloat16)
        return np.asarray(tensor.numpy())


def _fuse_rows(table: QuantizedTable) -> np.ndarray:
    """Return FBGEMM's rows: codes, scale and bias. The last two are float16 with codes of 4 bits."""
    kind = np.dtype(np.float32 if table.bits == 8 else np.float16)
    bias = -table.scales * (table.zero_points & ((1 << table.bits) - 1))
    pair = np.concatenate([table.scales, bias], axis=1).astype(kind)
    return np.concatenate([table.codes, pair.view(np.uint8)], axis=1)


def _row_change(axis: int, how: str) -> Callable[[Any, Any, Any], Any] | None:
    if how == "none":
        return lambda a, i, u: a.index_copy_(axis, i.long(), u)
    if how == "add":
        return lambda a, i, u: a.index_add_(axis, i, u)
    if how == "sub":
        return lambda a, i, u: a.index_add_(axis, i, u, alpha=-1)
    name = REDUCTIONS.get(how)
    return None if name is None else lambda a, i, u: a.index_reduce_(axis, i, u, name)


def _lane_changes(axis: int, how: str, indices: Any, new: Any) -> dict[str, Change]:
    if how == "none":
        return {"scatter_": lambda a: a.scatter_(axis, indices.long(), new)}
    changes: dict[str, Change] = {}
    if how in REDUCTIONS:
        changes["scatter_reduce_"] = lambda a: a.scatter_reduce_(axis, indices.long(), new, REDUCTIONS[how])
    if how == "add":
        changes["scatter_add_"] = lambda a: a.scatter_add_(axis, indices.long(), new)
    return changes


def _write_windows(target: Any, case: BenchCase, new: Any) -> None:
    for entry, start in enumerate(case.indices.tolist()):
        target[entry, ..., start : start + case.workload.window, :] = new[entry]
