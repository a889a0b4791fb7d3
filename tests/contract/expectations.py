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
    named = (call.inputs.get(name) for name in ("scales", "data", "updates", "a"))
    return next((each for each in named if each is not None), next(iter(call.inputs.values())))


@cache
def expect(case: Case) -> Any:
    """Return the result of the oracle, or the error that it raises."""
    return expect_call(make(case))


def expect_call(call: Call) -> Any:
    """Return the result of the oracle for a call, or the error that it raises."""
    return judge.outcome(_EXPECTATIONS.get(call.function, _expect_kernel), call)


def _expect_kernel(call: Call) -> Any:
    inputs = [call.inputs[name] for name in ("data", "indices", "updates") if name in call.inputs]
    return oracle.array_call(call.function, *inputs, **call.options)


def _expect_bags(call: Call) -> Any:
    options = {"reduction": "add", "mode": "raise", "negative": "end"} | call.options | call.inputs
    if "scales" in options:  # all numbers of the table first
        names = ("data", "scales", "zero_points", "axis", "quantize_axis", "block_size", "bits")
        table = {
            "indices": np.arange(SIZE),
            "zero_points": None,
            "axis": 0,
            "quantize_axis": -1,
            "rule": oracle.IndexRule("raise"),
        }
        options["data"] = oracle.gather_quantized(
            **table | {name: options.pop(name) for name in names if name in options}
        )
    if (pointers := options.pop("indptr", None)) is not None:
        options["offsets"] = pointers[:-1]
    return judge._gather_reduce_literally(options.pop("data"), options.pop("indices"), **options)


def _expect_quantized(call: Call) -> Any:
    given = {"zero_points": None, "axis": 0, "quantize_axis": -1} | call.inputs | call.options
    rule = oracle.IndexRule(given.pop("mode", "raise"), given.pop("negative", "end"))
    return oracle.gather_quantized(rule=rule, **given)


def _expect_cache(call: Call) -> Any:
    given = call.inputs
    return oracle.tensor_scatter(given["past_cache"], given["update"], given.get("write_indices"),
                                 call.options.get("axis", -2), call.options.get("mode", "linear"))  # fmt: skip


def make_plain(call: Call) -> Call:
    """Return the call that does the same without prepared indices."""
    inputs, options = dict(call.inputs), dict(call.options)
    method, shape = call.function.partition(".")[2], options.pop("shape")
    if method == "propagate":
        target, source = inputs.pop("indices").astype(np.int64).T
        inputs |= {"indices": source, "segment_ids": target % shape[0]}
        return Call("gather_reduce", inputs, options | {"num_segments": shape[0]})
    is_single = "axis" in options
    if method == "gather":
        given = {name: inputs[name] for name in ("data", "indices")}
        return Call("gather" if is_single else "gather_nd", given, options)
    if method != "scatter":
        reduction = options.pop("reductions", "sum").replace("sum", "add")
        options |= {"reduction": reduction, "include_self": method == "sum"}
        behind = inputs["updates"].shape[options["axis"] + inputs["indices"].ndim if is_single else 1 :]
        inputs["data"] = np.full((*shape, *behind), reduction == "mul", inputs["updates"].dtype)
    names = ("data", "indices", "updates")
    return Call("scatter_update" if is_single else "scatter_nd", {name: inputs[name] for name in names}, options)


_EXPECTATIONS: dict[str, Callable[[Call], Any]] = {
    "gather_reduce": _expect_bags,
    "gather_quantized": _expect_quantized,
    "tensor_scatter": _expect_cache,
    "gather_tree": lambda call: oracle.gather_tree(*call.inputs.values()),
    **{f: lambda call: expect_call(make_plain(call)) for f in DRAWS if f.startswith("prepare.")},
}
