"""Results are bit-for-bit identical for any number of threads, in every run, and equal those of serial addition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.operation import SCATTERS, Form, Kernel

THREADS = (1, 2, 3, 7, 64)
MANY = 1_000_000
SLOTS = 4
KINDS = {
    name: np.dtype(getattr(ml_dtypes, name, None) or name)
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
}  # fmt: skip
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
LOGIC = {"add": np.logical_or, "sub": np.not_equal, "mul": np.logical_and, "min": np.logical_and, "max": np.logical_or}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = gs.num_threads()
    yield
    gs.set_num_threads(before)


def every_number_of_threads(call: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the result of a call after checking that it is identical for all numbers of threads."""
    results = []
    for threads in THREADS:
        gs.set_num_threads(threads)
        results += [call(), call()]
    assert len({result.tobytes() for result in results}) == 1
    return results[0]


def values(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    real = 1 + rng.normal(0, 1 / 64, shape)
    return (real + 1j * rng.normal(0, 1 / 64, shape) if dtype.kind == "c" else real).astype(dtype)


def one_after_the_other(data: np.ndarray, rows: np.ndarray, updates: np.ndarray, reduction: str) -> np.ndarray:
    """Combine serially. NumPy's accumulate() rounds after every step, except for halves. Its reduce() adds in pairs."""
    result = data.copy()
    for slot in range(len(data)):
        met = np.concatenate([data[slot : slot + 1], updates[rows == slot]])
        if reduction == "none":
            result[slot] = met[-1]
        elif reduction == "mean" and data.dtype.kind in "iu":
            result[slot] = sum(met.tolist()) // len(met)
        elif reduction == "mean":
            total = steps(np.add, met)
            n = (np.float32 if data.itemsize == 2 else data.real.dtype.type)(len(met))  # too large for a half
            result[slot] = complex(total.real / n, total.imag / n) if data.dtype.kind == "c" else total / n
        else:
            result[slot] = steps((LOGIC if data.dtype.kind == "b" else UFUNCS)[reduction], met)
    return result


def steps(ufunc: np.ufunc, met: np.ndarray) -> Any:
    if met.dtype.name not in ("float16", "bfloat16"):
        return ufunc.accumulate(met, dtype=met.dtype)[-1]
    total = met[0]
    for value in met[1:]:
        total = ufunc(total, value)
    return total


def has(dtype: np.dtype, reduction: str) -> bool:
    return not (dtype.kind == "c" and reduction in ("min", "max")) and not (dtype.kind == "b" and reduction == "mean")


CALLS = [(name, how) for name in KINDS for how in ("none", *UFUNCS, "mean") if has(KINDS[name], how)]


@pytest.mark.parametrize(("name", "reduction"), CALLS)
def test_a_million_updates_of_four_targets(name: str, reduction: str) -> None:
    dtype = KINDS[name]
    data, updates = values((SLOTS,), dtype), values((MANY, 1), dtype)[:, 0]
    rows = np.random.default_rng(0).integers(0, SLOTS, MANY)
    result = every_number_of_threads(lambda: gs.scatter_update(data, rows, updates, reduction=reduction))
    nd = gs.scatter_nd(data, rows[:, np.newaxis], updates, reduction=reduction)
    assert nd.tobytes() == gs.scatter_elements(data, rows, updates, reduction=reduction).tobytes() == result.tobytes()
    if dtype.kind == "c" and reduction == "mul":  # NumPy multiplies complex numbers in a different order
        updates, rows = updates[:2000], rows[:2000]
        result = gs.scatter_update(data, rows, updates, reduction=reduction)
        part = np.float32 if name == "complex64" else np.float64
        for slot in range(SLOTS):
            re, im = part(data[slot].real), part(data[slot].imag)
            for z in updates[rows == slot]:
                re, im = re * z.real - im * z.imag, re * z.imag + im * z.real
            assert (result[slot].real, result[slot].imag) == (re, im)
        return
    with np.errstate(all="ignore"):
        want = one_after_the_other(data, rows, updates, reduction)
    np.testing.assert_array_equal(result.view(f"u{dtype.itemsize}") if dtype.kind != "c" else result,
                                  want.view(f"u{dtype.itemsize}") if dtype.kind != "c" else want)  # fmt: skip


@pytest.mark.parametrize("accumulate", ["wide", "exact"])
@pytest.mark.parametrize("reduction", ["add", "sub", "mean"])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_other_ways_to_add(name: str, reduction: str, accumulate: str) -> None:
    data, updates = values((SLOTS,), KINDS[name]), values((100_000, 1), KINDS[name])[:, 0]
    rows = np.random.default_rng(0).integers(0, SLOTS, len(updates))
    options: dict[str, Any] = {"reduction": reduction, "accumulate": accumulate}
    every_number_of_threads(lambda: gs.scatter_update(data, rows, updates, **options))
    rowwise = np.repeat(updates[:3000, np.newaxis], 80, 1)
    every_number_of_threads(
        lambda: gs.scatter_update(np.zeros((50, 80), data.dtype), np.arange(3000) % 50, rowwise, **options)
    )


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_every_op_version(row: Any) -> None:
    """Use inputs that are large enough for threads, with every element type and reduction of the version."""
    reductions = next((a.choices for a in row.attributes if a.name == "reduction"), None) or ("none",)
    for name in row.element_types:
        if name not in KINDS:
            continue
        for reduction in reductions:
            options = {"reduction": reduction} if len(reductions) > 1 else {}
            inputs, more = arguments(row, KINDS[name])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                try:
                    row(*inputs, **options, **more)
                except TypeError as error:
                    assert "not defined for elements" in str(error)  # noqa: PT017
                    continue
                every_number_of_threads(lambda: row(*inputs, **options, **more))  # noqa: B023


def bag_arguments(row: Any, table: np.ndarray, weights: np.ndarray) -> tuple[list[Any], dict[str, Any]]:
    """Return bags of about 60 members, and one bag with a third of all members."""
    n, rng = len(weights), np.random.default_rng(0)
    starts = np.sort(np.concatenate([[0], rng.integers(0, 2 * n // 3, 99)]))
    given = {
        "emb_table": table,
        "data": table[rng.integers(0, SLOTS, n)],
        "indices": rng.integers(0, SLOTS, n),
        "offsets": starts,
        "segment_ids": np.searchsorted(starts, np.arange(n), side="right") - 1,
        "num_segments": np.array(100),
        "default_index": np.array(1),
        "per_sample_weights": None if row.attributes else weights,  # a mean does not support weights
    }
    if "Packed" in row.op_type:
        given |= {"indices": given["indices"].reshape(100, -1)}
        given["per_sample_weights"] = None if row.attributes else weights.reshape(100, -1)
    more = {"fill_mode": "ZERO"} if "fill_mode" in [each.name for each in row.attributes] else {}
    return [given[each.name] for each in row.inputs], more


def arguments(row: Any, dtype: np.dtype) -> tuple[list[np.ndarray], dict[str, Any]]:
    n, width = 6000, 24
    rng = np.random.default_rng(0)
    index = np.int32 if row.index_types == ("int32",) else np.int64
    if row.kernel == "gather_tree":
        parents = rng.integers(0, 8, (100, 16, 8))
        return [rng.integers(2, 99, (100, 16, 8)).astype(dtype), parents.astype(dtype), np.full(16, 100, dtype),
                np.array(1, dtype)], {}  # fmt: skip
    if row.kernel == "tensor_scatter":
        return [values((8, 4, 512, 16), dtype), values((8, 4, 64, 16), dtype), rng.integers(0, 448, 8)], {}
    if row.kernel == "gather_reduce":
        return bag_arguments(row, values((SLOTS, width), dtype), values((n, 1), dtype)[:, 0])
    if row.kernel == "gather_quantized":
        codes, scales = rng.integers(0, 256, (SLOTS, 64), np.uint8), values((SLOTS, 4), np.dtype(np.float32))
        return [codes.view(dtype), rng.integers(0, SLOTS, n), scales], {"block_size": 16, "bits": 8}
    many = values((n, width), dtype)
    data = many if row.kernel == "scatter_elements" else many[:SLOTS]  # indices must not be longer than data
    indices = rng.integers(0, SLOTS, (n, width)).astype(index)
    if Kernel(row.kernel).form != Form.LANES:
        indices = indices[:, :1] if Kernel(row.kernel).form == Form.TUPLES else indices[:, 0]
    updates = [many] if row.kernel in SCATTERS else []
    axis = [np.array(0)] if row.inputs[-1].kind == "axis" else []
    more = {"axis": 0} if any(attribute.name == "axis" for attribute in row.attributes) else {}
    return [data, indices, *updates, *axis], more
