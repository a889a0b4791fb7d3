"""The process that makes the calls of the playground. The server starts it, and ends it if a call takes too long."""

from __future__ import annotations

import json
import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from gatherscatter.arrays.convert import element_type
from gatherscatter.explaining.page import main, steps_of
from gatherscatter.explaining.playground.texts import MistakeError, ReadCall, read_call
from gatherscatter.functions.plan import TableRows, movement, plan
from gatherscatter.operation import Kernel
from gatherscatter.specs import calls
from gatherscatter.specs.table import TABLE
from gatherscatter.system.processes import answer_lines

MOST_ELEMENTS = 10_000  # of an input or of the result
_ROWS = {row.name: row for row in TABLE}


def answer(request: bytes) -> dict[str, Any]:
    """Make a call and explain it.

    ``request`` is JSON: ``{"op": "onnx.Gather-13", "inputs": {"data": "int32:[1, 2]", ...}, "attributes": {}}``. The
    answer has the explanation as HTML, its steps, and the call in Python; or the mistake that keeps the call from being
    read, and the name of its input.
    """
    try:
        call = _read_request(request)
        check_size(call)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the explanation shows it
            explanation = call.explain()
            return {"html": main(explanation), "steps": steps_of(explanation), "python": python_code(call)}
    except MistakeError as error:
        return {"mistake": str(error), "input": error.input}


def _read_request(request: bytes) -> ReadCall:
    try:
        texts = json.loads(request, strict=False)  # not strict: texts may have line breaks
        row, inputs, attributes = _ROWS[texts["op"]], texts["inputs"], texts["attributes"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MistakeError("the request does not name an op version, inputs and attributes") from None
    return read_call(row, inputs, attributes)


def check_size(call: ReadCall) -> None:
    """Check that no array of a call is too large for a page. The result is planned, not made.

    Raises
    ------
    MistakeError
        An array has more than `MOST_ELEMENTS` elements.
    """
    names = (one.name for one in call.row.inputs)
    sizes = {name: array.size for name, array in zip(names, call.inputs, strict=False) if array is not None}
    with suppress(TypeError, ValueError, IndexError, OverflowError):  # errors of the call, which the explanation shows
        sizes["the result"] = _plan_size(call)
    for name, size in sizes.items():
        if size > MOST_ELEMENTS:
            raise MistakeError(f"{name} has {size} elements; this page takes {MOST_ELEMENTS} at most")


def _plan_size(call: ReadCall) -> int:
    """Return the number of elements of the result."""
    row = call.row
    arrays, values = calls.check_inputs(row, call.inputs, call.attributes)
    if row.kernel == Kernel.GATHER_REDUCE:
        return _count_bags(calls.name_inputs(row, arrays)) * int(math.prod(arrays[0].shape[1:]))
    if row.kernel == Kernel.GATHER_QUANTIZED:
        planned = plan(row.kernel, *arrays, axis=values.pop("gather_axis"), **values).movement
        assert isinstance(planned, TableRows)
        return planned.count * planned.width
    if row.kernel in (Kernel.GATHER, Kernel.GATHER_ND, Kernel.GATHER_ELEMENTS):
        (data, indices), operation = calls.prepare_call(row, arrays, values)
        axis, batch_dims = operation.axis, operation.batch_dims
        return math.prod(movement(row.kernel, data.shape, indices.shape, axis=axis, batch_dims=batch_dims).slots)
    return int(arrays[0].size)


def _count_bags(given: dict[str, Any]) -> int:
    if given.get("num_segments") is not None:
        return int(given["num_segments"].item())
    ids = given.get("segment_ids")
    if ids is not None:
        return int(ids.max(initial=-1)) + 1
    offsets = given.get("offsets")
    return len(given["indices"] if offsets is None else offsets)


def python_code(call: ReadCall) -> str:
    """Return the call as a script."""
    lines = [f"    {'None' if array is None else _array_code(array)}," for array in call.inputs]
    lines += [f"    {name}={value!r}," for name, value in call.attributes.items()]
    imports = ["import gatherscatter as gs", "import ml_dtypes", "import numpy as np"]
    if not any("ml_dtypes." in line for line in lines):
        imports.remove("import ml_dtypes")
    return "\n".join([*imports, "", f'result = gs.op("{call.row.name}")(', *lines, ")"])


def _array_code(array: np.ndarray) -> str:
    name = element_type(array.dtype)
    dtype = {"string": "object"}.get(name, f"np.{array.dtype}" if array.dtype.isbuiltin == 1 else f"ml_dtypes.{name}")
    if array.dtype.name == "bool":
        dtype = "bool"
    if not array.size:
        return f"np.empty({array.shape}, {dtype})"
    if array.dtype.kind == "c":  # infinite and NaN parts have no literal
        return f"np.array({np.vectorize(str, otypes=[object])(array).tolist()!r}).astype({dtype})"
    values = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({array.tolist() if name == 'string' else values}, {dtype})"


if __name__ == "__main__":
    answer_lines(lambda request: json.dumps(answer(request)).encode())
