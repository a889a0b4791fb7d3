"""What the oracle returns for the calls of the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gatherscatter import oracle
from tests.contract.calls import DRAWS, SIZE, Call, Case, make
from tests.support import judge


def find_like(call: Call) -> np.ndarray:
    """Return the input that has the element type of the result."""
    named = (call.inputs.get(name) for name in ("scales", "data", "updates"))
    return next((each for each in named if each is not None), next(iter(call.inputs.values())))


@cache
def expect(case: Case) -> Any:
    """Return the result of the oracle, or the error that it raises."""
    return judge.outcome(_EXPECTATIONS.get(case.function, _expect_kernel), make(case))


def _expect_kernel(call: Call) -> Any:
    return oracle.array_call(call.function, *call.inputs.values(), **call.options)


def _expect_bags(call: Call) -> Any:
    options = {"reduction": "add", "mode": "raise"} | call.options | call.inputs
    if "scales" in options:  # all numbers of the table first
        names = ("data", "scales", "zero_points", "axis", "quantize_axis", "block_size", "bits")
        table = {"indices": np.arange(SIZE), "zero_points": None, "axis": 0, "quantize_axis": -1, "rule": "raise"}
        options["data"] = oracle.gather_quantized(
            **table | {name: options.pop(name) for name in names if name in options}
        )
    if (pointers := options.pop("indptr", None)) is not None:
        options["offsets"] = pointers[:-1]
    return judge._gather_reduce_literally(options.pop("data"), options.pop("indices"), **options)


def _expect_quantized(call: Call) -> Any:
    given = {"zero_points": None, "axis": 0, "quantize_axis": -1, "mode": "raise"} | call.inputs | call.options
    return oracle.gather_quantized(rule=given.pop("mode"), **given)


def _expect_cache(call: Call) -> Any:
    given = call.inputs
    return oracle.tensor_scatter(given["past_cache"], given["update"], given.get("write_indices"),
                                 call.options.get("axis", -2), call.options.get("mode", "linear"))  # fmt: skip


def _expect_prepared(call: Call) -> Any:
    given, options = call.inputs, dict(call.options)
    method, shape = call.function.partition(".")[2], options.pop("shape")
    axis = {"axis": options.pop("axis")} if "axis" in options else {}
    if method == "propagate":
        target, source = given["indices"].astype(int).T
        wrapped = [int(each) % shape[0] for each in target]
        how = {"reduction": "add"} | options
        return oracle.gather_reduce(given["data"], source.tolist(), wrapped, shape[0], list(given["weights"]),
                                    how["reduction"], 0, "step", "raise")  # fmt: skip
    if method == "gather":
        return oracle.array_call("gather" if axis else "gather_nd", given["data"], given["indices"], **axis)
    scatter = "scatter_update" if axis else "scatter_nd"
    if method == "scatter":
        return oracle.array_call(scatter, given["data"], given["indices"], given["updates"], **axis, **options)
    indices, updates = given["indices"], given["updates"]
    behind = updates.shape[axis["axis"] + indices.ndim :] if axis else updates.shape[1:]
    reduction = {"sum": "add"}.get(options.pop("reductions", "sum"), "")
    how = {"reduction": reduction or call.options["reductions"], "include_self": method == "sum"}
    start = np.full((*shape, *behind), how["reduction"] == "mul", updates.dtype)
    return oracle.array_call(scatter, start, indices, updates, **axis, **options, **how)


_EXPECTATIONS: dict[str, Callable[[Call], Any]] = {
    "gather_reduce": _expect_bags,
    "gather_quantized": _expect_quantized,
    "tensor_scatter": _expect_cache,
    "gather_tree": lambda call: oracle.gather_tree(*call.inputs.values()),
    **{function: _expect_prepared for function in DRAWS if function.startswith("prepare.")},
}
