"""NumPy: the expressions that people write for these operators."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.recipe import Plan, fused, plan
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime
from gatherscatter.versions import NARROW, ONNX_24

_UFUNCS = {"add": "add", "sub": "subtract", "mul": "multiply", "min": "minimum", "max": "maximum"}
_TUPLE = "at = tuple(np.moveaxis(indices, -1, 0))\n"
_GRID = "at = list(np.indices(indices.shape, sparse=True))\nat[{axis}] = indices\nat = tuple(at)\n"


class Numpy(Runtime):
    """take, take_along_axis, put_along_axis, indexing, and ``at`` of ufuncs."""

    name: ClassVar[str] = "numpy"
    title: ClassVar[str] = "NumPy recipes"
    package: ClassVar[str] = "numpy"
    modules: ClassVar[tuple[str, ...]] = ("numpy",)
    setup: ClassVar[str] = ""
    recipe: ClassVar[bool] = True

    def source(self, case: Case) -> str:
        """The recipe."""
        how = plan(case, (*ONNX_24, *NARROW))
        if how.kernel.startswith("gather"):
            body = _gather(how)
        elif how.kernel == "tensor_scatter":
            body = _tensor_scatter(how)
        else:
            body = _scatter(how)
        return body + fused(case, how)


def _gather(how: Plan) -> str:
    if how.kernel == "gather_elements":
        return f"got = np.take_along_axis(data, indices, axis={how.axis})\n"
    one = "{0}[tuple(np.moveaxis({1}, -1, 0))]"
    if how.kernel == "gather":
        one = f"np.take({{0}}, {{1}}, axis={how.axis - how.batch_dims})"
    return f"got = {_batched(one, how.batch_dims)}\n"


def _batched(one: str, batch_dims: int, data: str = "data", indices: str = "indices") -> str:
    """An expression for each batch, put together."""
    if batch_dims <= 0:
        return one.format(data, indices)
    inner = _batched(one, batch_dims - 1, f"d{batch_dims}", f"i{batch_dims}")
    return f"np.stack([{inner} for d{batch_dims}, i{batch_dims} in zip({data}, {indices}, strict=True)])"


def _scatter(how: Plan) -> str:
    if not how.include_self and how.reduction != "none":
        raise NotAskedError("ufuncs reduce into what is there")
    if how.reduction != "none" and how.reduction not in _UFUNCS:
        raise NotAskedError(f"no ufunc gives a {how.reduction}")
    if how.kernel == "scatter_elements" and how.reduction == "none":
        return f"got = data.copy()\nnp.put_along_axis(got, indices, updates, axis={how.axis})\n"
    if how.kernel == "scatter_update":
        return f"got = data.copy()\ngot{how.at('indices')} = updates\n"
    at = _TUPLE if how.kernel == "scatter_nd" else _GRID.format(axis=how.axis)
    if how.reduction == "none":
        return f"{at}got = data.copy()\ngot[at] = updates\n"
    return f"{at}got = data.copy()\nnp.{_UFUNCS[how.reduction]}.at(got, at, updates)\n"


def _tensor_scatter(how: Plan) -> str:
    places = "start + np.arange(length)"
    if how.mode == "circular":
        places = f"({places}) % past_cache.shape[{how.axis}]"
    return f"""\
got = past_cache.copy()
length = update.shape[{how.axis}]
starts = np.zeros(len(got), np.int64) if write_indices is None else write_indices
for n, start in enumerate(starts):
    got[n][{":, " * (how.axis - 1)}{places}] = update[n]
"""
