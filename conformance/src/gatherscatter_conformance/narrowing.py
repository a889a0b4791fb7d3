"""Detect results computed in 32 bits: compare them with the oracle's result for narrowed inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from gatherscatter import oracle, specs
from gatherscatter_conformance.case import Case, same

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def describe_narrowing(case: Case, got: tuple[np.ndarray, ...]) -> str:
    """Return a description of the narrowing, or ''."""
    if not _can_detect_narrowing(case):
        return ""
    if any(result.dtype.name == _NARROW.get(case.type) for result in got):
        return f"a result of {_NARROW[case.type]}"
    if _only_flushed(case, got):
        return ""
    for words, inputs in _iterate_narrowed_inputs(case):
        try:
            expected = oracle.call(case.op, *inputs, **case.attributes)
        except (IndexError, ValueError, TypeError):
            continue
        widened = expected.astype(case.type) if case.type in _NARROW else expected
        if same(got, dataclasses.replace(case, expected=(widened,))):
            return words
    return ""


def _only_flushed(case: Case, got: tuple[np.ndarray, ...]) -> bool:
    """Whether the only differences are zeros. A processor that flushes tiny numbers to zero also does so in 64 bits."""
    if case.expected is None or case.type not in ("float64", "complex128") or got[0].shape != case.expected[0].shape:
        return False
    return bool((got[0][got[0] != case.expected[0]] == 0).all())


def _can_detect_narrowing(case: Case) -> bool:
    """Whether an input has 64 bits, and narrowing can be distinguished from other faults."""
    if case.expected is None and case.error != "IndexError":
        return False
    if case.reduction == "mean" and case.type in ("int64", "uint64"):
        data, _, updates, *_ = case.inputs
        total = sum(abs(int(value)) for array in (data, updates) if array is not None for value in array.flat)
        if total >= 1 << 63:  # a sum that overflows 64 bits may give the same mean
            return False
    return any(array is not None and array.dtype.name in _NARROW for array in case.inputs)


def _iterate_narrowed_inputs(case: Case) -> Iterator[tuple[str, list[np.ndarray | None]]]:
    """Yield data, indices, or both in 32 bits. Values that don't fit are cut off or clipped at the limit."""
    kinds = [each.kind for each in specs.op(case.op).inputs]
    for data_words, index_words in _PAIRS:
        words = {"data": data_words, "indices": index_words}
        parts = [f"{name} in 32 bits ({how})" for name, how in words.items() if how]
        inputs = [
            None if array is None else _CUTS[data_words](array) if kind == "data" else _index(index_words, array)
            for kind, array in zip(kinds, case.inputs, strict=False)
        ]
        yield f"the result for {' and '.join(parts)}", inputs


def _index(words: str, array: np.ndarray) -> np.ndarray:
    """Narrow integers to int32."""
    if not words or array.dtype.kind not in "iu" or array.dtype.itemsize < 4:
        return array
    if words == "at the limit":
        array = np.clip(array, max(-(2**31), int(np.iinfo(array.dtype).min)), 2**31 - 1)
    return array.astype(np.int32).astype(array.dtype if array.dtype.kind == "i" else np.int64)


def _same(array: np.ndarray) -> np.ndarray:
    return array


def _narrow_by_wrapping(array: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(_NARROW.get(array.dtype.name, array.dtype))


def _narrow_by_clipping(array: np.ndarray) -> np.ndarray:
    """Clip values, including infinities, at the limits of 32 bits."""
    if array.dtype.name in ("int64", "uint64"):
        low = max(-(2**31), int(np.iinfo(array.dtype).min))
        return _narrow_by_wrapping(np.clip(array, low, 2**31 - 1))
    if array.dtype.name == "float64":
        limit = np.float64(np.finfo(np.float32).max)
        return _narrow_by_wrapping(np.clip(array, -limit, limit))
    return _narrow_by_wrapping(array)


_CUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "cut off": _narrow_by_wrapping,
    "at the limit": _narrow_by_clipping,
    "": _same,
}

# Pairs that narrow only one of them come first: they are the better explanation.
_PAIRS = sorted(product(_CUTS, _CUTS), key=lambda pair: pair.count("") != 1)[:-1]
