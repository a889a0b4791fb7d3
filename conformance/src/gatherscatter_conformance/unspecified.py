"""The reasons why the specification leaves a result open, and the reason for a call.

A reduction is open if another order of the updates, or another intermediate precision, gives another result. To find
out, the same contributions are combined in other orders, exactly, and in a wider type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from gatherscatter import oracle
from gatherscatter.oracle import COMPLEX, FLOATS, GENERIC, HALVES, INTEGERS, OracleRow, Reduce, round_to_format

REASONS = {
    "order of writes": "O3: the order of several writes to one target is not specified",
    "order of sums": "O27: the order in which floats are combined, and the intermediate precision, are not specified",
    "halves": "O16, V19: the precision in which sums and products of 16-bit floats are computed is not specified",
    "overflow": "2.10: the result of an integer overflow is not specified",
    "nan": "O12, V17: the minimum and maximum of NaN are not specified",
    "bool": "O13: the reductions of bool are not specified",
    "string": "O14: the reductions of strings are not specified",
    "storage": "2.10: it is a ruling of gatherscatter that numbers of 8 and 4 bits are only moved",
    "complex order": "O15: complex numbers have no order, and the specification defines none",
    "pairwise mean": "V10: the specification computes a mean of several numbers pairwise, which gives another result",
    "k=0": "O7: the specification requires index tuples of at least one index",
    "negative": "O8: the specification does not say whether indices may be negative",
    "no range": "O8: the specification gives no range of indices",
    "no consequence in ONNX": "O28: the specification does not say what an index out of range means",
    "no consequence": "the specification gives a range of indices, but no consequence of an index outside it",
    "deprecated": "O24: the operator is deprecated, and a runtime need not have it",
    "batch_dims": "V2: the specification has two ranges of batch_dims, which contradict each other here",
    "broadcast": "V3: the specification broadcasts batch dimensions",
    "tree": "V15: the specification does not say what a length below one, or a parent that is not a beam, means",
    "zero": "V22: the specification does not say what the zero of strings is",
    "bags": "V25 to V29: the specification does not say what such indices, offsets, segment ids or defaults mean",
    "integer mean": "V31: the specification divides integers to floats, which are not of type T",
    "empty mean": "V27: the specification does not say what the mean of no rows is",
    "numeric": "V18: the specification does not say whether bool is a numeric type",
    "axis of bytes": "M1, M2: the schema does not say how zero points are packed along an axis that is not quantized",
    "write index": "O23: the specification does not say what a negative write index means",
}
"""The sentences for the field ``latitude`` of a case."""

_ORDERS = 24  # the number of orders to try for the updates of one target

# Operators for which the specification gives no range of indices, or no consequence of an index outside the range.
_UNNAMED = (
    {"onnx.Scatter-9": "no range"}
    | {f"onnx.ScatterND-{version}": "no consequence in ONNX" for version in (11, 13, 16, 18)}
    | dict.fromkeys(
        (
            *("openvino.Gather-1", "openvino.Gather-7", "openvino.GatherElements-6"),
            *("openvino.GatherND-5", "openvino.GatherND-8", "openvino.ScatterNDUpdate-3"),
        ),
        "no consequence",
    )
)


def reason(row: OracleRow, inputs: list[np.ndarray | None], attributes: dict[str, Any], error: str | None) -> str:
    """Return a key of `REASONS` for a call with a result or an error, or "" if the specification decides it."""
    if row.deprecated:
        return "deprecated"
    given = dict(zip(row.inputs, inputs, strict=True))
    if error is not None:
        return _classify_error(row, given, attributes, error)
    if found := _classify_call(row, given, attributes):
        return found
    return _classify_contributions(row, inputs, attributes) if reduces(row) else ""


def reduces(row: OracleRow) -> bool:
    """Whether several values may be written to one target."""
    return row.kernel == "gather_reduce" or row.is_scatter


def _classify_error(row: OracleRow, given: dict[str, Any], attributes: dict[str, Any], error: str) -> str:
    """Classify a call that is refused by a ruling of gatherscatter, and not by the specification."""
    if row.kernel == "gather_reduce":
        return "bags" if error == "IndexError" or (error == "ValueError" and _is_out_of_order(given)) else ""
    if error == "IndexError":
        if row.kernel == "tensor_scatter":
            return "write index" if int(given["write_indices"].min()) < 0 else ""
        return "tree" if row.kernel == "gather_tree" else _UNNAMED.get(row.name, "")
    data = given[row.inputs[0]]
    if error == "TypeError" and attributes.get("reduction") in row.reductions[1:]:
        name = oracle.element_type(data.dtype)
        if name in row.types and data.dtype == given["updates"].dtype:
            if name in oracle.OV_STORAGE and row.domain == "openvino":
                return "storage"
            return {"string": "string", "complex64": "complex order", "complex128": "complex order"}.get(name, "")
    if error == "ValueError" and row.kernel == "gather_nd" and row.domain == "openvino":
        b, shapes = attributes.get("batch_dims", 0), (data.shape, given["indices"].shape)
        if 0 <= b < min(map(len, shapes)) and given["indices"].shape[-1] <= data.ndim - b:
            pairs = list(zip(shapes[0][:b], shapes[1][:b], strict=True))
            return "broadcast" if all(m == n or 1 in (m, n) for m, n in pairs) else ""
    return ""


def _is_out_of_order(given: dict[str, Any]) -> bool:
    """Whether offsets or segment ids descend, or the number of segments is negative."""
    number = given.get("num_segments")
    lines = [given[name] for name in ("offsets", "segment_ids") if given.get(name) is not None]
    descends = any(line.ndim == 1 and bool((line[1:] < line[:-1]).any()) for line in lines)
    return descends or (number is not None and number.size == 1 and int(number.reshape(())) < 0)


def _classify_call(row: OracleRow, given: dict[str, Any], attributes: dict[str, Any]) -> str:
    """Classify a call whose result is a ruling of gatherscatter."""
    if (
        row.kernel in ("gather_reduce", "gather_tree")
        and oracle.element_type(_array(given[row.inputs[0]]).dtype) == "bool"
    ):
        return "numeric"
    if row.kernel == "gather_quantized":
        data, along = given["data"], attributes.get("quantize_axis", 1)
        return "axis of bytes" if data.dtype == "uint8" and along % data.ndim != data.ndim - 1 else ""
    if row.kernel == "gather_reduce":
        if (
            row.op_type == "EmbeddingBagPacked"
            and attributes.get("reduction") == "mean"
            and not given["indices"].shape[1]
        ):
            return "empty mean"
        scalars = [given[name] for name in ("num_segments", "default_index") if given.get(name) is not None]
        by_default = row.op_type == "EmbeddingSegmentsSum" and given["default_index"] is not None
        unnamed = by_default and int(given["default_index"].reshape(())) == -1
        return "bags" if unnamed or any(scalar.ndim for scalar in scalars) else ""
    if row.kernel == "gather_tree":
        return "tree" if given["max_seq_len"].size and (given["max_seq_len"] < 1).any() else ""
    if row.kernel == "tensor_scatter":
        at = given["write_indices"]
        return "write index" if at is not None and at.size and at.min() < 0 else ""
    data, indices = given["data"], given["indices"]
    if row.kernel == "gather_nd" and row.domain == "onnx" and indices.shape[-1] == 0:
        return "k=0"
    if row.name in ("onnx.Gather-1", "onnx.Scatter-9") and indices.size and indices.min() < 0:
        return "negative"
    b = attributes.get("batch_dims", 0)
    if row.kernel == "gather" and b < -min(data.ndim, indices.ndim):
        return "batch_dims"
    if row.rule == "zeros" and oracle.element_type(data.dtype) == "string" and indices.size:
        size = data.shape[oracle.axis_input(given["axis"])]
        return "zero" if int(indices.min()) < -size or int(indices.max()) >= size else ""
    return ""


def _classify_contributions(row: OracleRow, inputs: list[np.ndarray | None], attributes: dict[str, Any]) -> str:
    """Classify a call for which another order of the updates, or another precision, gives another result."""
    name = oracle.element_type(_array(inputs[0]).dtype)
    given = attributes.get("reduction", row.fixed_reduction)
    reduction = GENERIC.get(given, given)
    if row.kernel == "gather_reduce" and reduction == "mean" and name in INTEGERS:
        return "integer mean"
    keeps_data = reduction != "none" and attributes.get("use_init_val", True)
    targets = contributions(row, inputs, attributes, keeps_data)
    if reduction == "none":
        return "order of writes" if any(not _all_same(values) for values in targets) else ""
    if row.domain == "onnx" and name in ("bool", "string"):
        return name
    for values in targets:
        if found := _classify_reduction(reduction, values, name, keeps_data):
            return found
    return ""


def leaves_zero_sign_open(row: OracleRow, inputs: list[np.ndarray | None], attributes: dict[str, Any]) -> bool:
    """Whether a call takes a minimum or maximum of zeros of both signs, or sums a bag of negative zeros.

    The specifications of bags do not define the initial value of a sum. If it is 0, the sum of negative zeros is 0.
    """
    if oracle.element_type(_array(inputs[0]).dtype) not in FLOATS:
        return False
    is_extreme = attributes.get("reduction", row.fixed_reduction) in ("min", "max")
    if not is_extreme and row.kernel != "gather_reduce":
        return False
    targets = contributions(row, inputs, attributes, attributes.get("use_init_val", True))
    signs = ([bool(np.signbit(float(x))) for x in values if x == 0] for values in targets)
    if is_extreme:
        return any(set(each) == {False, True} for each in signs)
    return any(each and all(each) and len(each) == len(values) for each, values in zip(signs, targets, strict=True))


def contributions(
    row: OracleRow, inputs: list[np.ndarray | None], attributes: dict[str, Any], keeps_data: bool
) -> list[list[Any]]:
    """Return the values that are combined in each written target, in row-major order.

    The oracle computes them: it gets names of the elements instead of the elements, and adds the names.
    """
    given = dict(zip(row.inputs, inputs, strict=True))
    if row.kernel == "gather_reduce":
        return _bag_contributions(row, given)
    data, updates = _array(given["data"]), _array(given["updates"])
    values = [*data.reshape(-1), *updates.reshape(-1)]
    named = given | {"data": _names(data, 0), "updates": _names(updates, data.size)}
    defaults = {key: value for key, value in row.attributes.items() if key not in attributes}
    combined = oracle.dispatch(row, named, defaults | attributes, Reduce("add", keeps_data, "step"))
    written = [names.numbers for names in combined.reshape(-1)]
    return [
        [values[number] for number in numbers] for numbers in written if len(numbers) > 1 or numbers[0] >= data.size
    ]


def _bag_contributions(row: OracleRow, given: dict[str, Any]) -> list[list[Any]]:
    """Return the values that are combined in each bag. Each member has its own row, with its weight."""
    data: np.ndarray = given[row.inputs[0]]
    weights: Any = given.get("per_sample_weights")
    indices = given.get("indices")
    name, members = oracle.element_type(data.dtype), data
    if indices is not None:
        members = data[indices.reshape(-1)]
        with np.errstate(all="ignore"):
            for m, *p in np.ndindex(members.shape) if weights is not None else ():
                members[(m, *p)] = oracle.step("mul", members[(m, *p)], weights.reshape(-1)[m], name)
        given = given | {"indices": np.arange(indices.size).reshape(indices.shape)}
    named = given | {row.inputs[0]: _names(members, 0), "per_sample_weights": None, "default_index": None}
    combined = oracle.dispatch(row, named, {}, Reduce("add", True, "step"))
    values = members.reshape(-1)
    return [[values[n] for n in names.numbers] for names in combined.reshape(-1) if isinstance(names, _Names)]


class _Names:
    """A list of element numbers. Adding another one appends its numbers. Each element takes part in one sum."""

    def __init__(self, number: int) -> None:
        self.numbers = [number]

    def __add__(self, other: _Names) -> _Names:
        self.numbers += other.numbers
        return self


def _array(value: np.ndarray | None) -> np.ndarray:
    assert value is not None
    return value


def _names(array: np.ndarray, start: int) -> np.ndarray:
    names = np.empty(array.size, object)
    names[:] = [_Names(start + n) for n in range(array.size)]
    return names.reshape(array.shape)


def _all_same(values: list[Any]) -> bool:
    return all(repr(value) == repr(values[0]) for value in values)


def _classify_reduction(reduction: str, values: list[Any], name: str, keeps_data: bool) -> str:
    if reduction in ("min", "max"):
        # Without the value of data, the initial value of the comparison is not NaN either.
        nans = [value != value for value in values] + ([] if keeps_data else [False])
        return "nan" if any(nans) and not all(nans) else ""
    if len(values) < 2:
        return ""
    if name in INTEGERS:
        return _open_integers(reduction, [int(value) for value in values], name)
    if name not in FLOATS and name not in COMPLEX:
        return ""
    in_order = repr(_fold(reduction, values, name))
    if all(repr(other) == in_order for other in _reduce_otherwise(reduction, values, name)):
        return ""
    return "halves" if name in HALVES else "order of sums"


def _open_integers(reduction: str, values: list[int], name: str) -> str:
    if reduction == "mean":
        pairwise = values[0]
        for value in values[1:]:
            pairwise = (pairwise + value) // 2
        return "" if pairwise == sum(values) // len(values) else "pairwise mean"
    limits = np.iinfo(name)
    total = values[0]
    for value in values[1:]:
        total = {"add": total + value, "sub": total - value, "mul": total * value}[reduction]
    return "" if limits.min <= total <= limits.max else "overflow"


def _fold(reduction: str, values: list[Any], name: str, accumulate: str = "step") -> Any:
    with np.errstate(all="ignore"):
        return oracle.fold(reduction, values, values[0].dtype, accumulate)


def _reduce_otherwise(reduction: str, values: list[Any], name: str) -> Iterator[Any]:
    """Yield the values combined in other ways. In a subtraction, the first value stays first."""
    first = 1 if reduction == "sub" else 0
    head, rest = values[:first], values[first:]
    orders = [rest[::-1]] if len(rest) > 5 else itertools.islice(itertools.permutations(rest), _ORDERS)
    for order in orders:
        yield _fold(reduction, [*head, *order], name)
    if name in HALVES:
        yield _fold(reduction, values, name, "wide")
    if name in FLOATS:
        yield _exact(reduction, values, name)
    if reduction == "mean" and len(values) > 2:
        pairwise = values[0]
        for value in values[1:]:
            pairwise = _fold("mean", [pairwise, value], name)
        yield pairwise


def _exact(reduction: str, values: list[Any], name: str) -> Any:
    """Return the exact result, rounded once at the end."""
    if reduction != "mul":
        return _fold(reduction, values, name, "exact")
    numbers = [float(value) for value in values]
    if not np.isfinite(numbers).all() or 0 in numbers:
        return _fold(reduction, values, name)
    product = Fraction(1)
    for number in numbers:
        product *= Fraction(number)
    with np.errstate(all="ignore"):
        return values[0].dtype.type(round_to_format(product, name))
