"""PyTorch: the functions that people use, and that its exporters map to these operators."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.recipe import Plan, fused, plan, widened
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime, row_of
from gatherscatter.versions import FLOATS, INTEGERS

_NARROW = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
_TYPES = ("bool", *INTEGERS, *FLOATS, "bfloat16", "complex64", "complex128", *_NARROW)
_NAMES = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin", "mean": "mean"}
_TUPLE = "at = indices.long().unbind(-1)\n"


class PyTorch(Runtime):
    """Indexing, gather, scatter, scatter_reduce, index_put."""

    name: ClassVar[str] = "pytorch"
    title: ClassVar[str] = "PyTorch recipes"
    package: ClassVar[str] = "torch"
    modules: ClassVar[tuple[str, ...]] = ("torch",)
    setup: ClassVar[str] = "import torch"
    recipe: ClassVar[bool] = True

    def source(self, case: Case) -> str:
        """Tensors over the arrays' memory, the recipe, and an array again."""
        how = plan(case, _TYPES)
        if how.kernel.startswith("gather"):
            body = _gather(how)
        elif how.kernel == "tensor_scatter":
            body = _tensor_scatter(how)
        else:
            body = _scatter(how)
        return _into(case) + widened(case, "indices = indices.long()\n") + body + _out_of(case) + fused(case, how)


def _into(case: Case) -> str:
    lines = []
    for each, array in zip(row_of(case).inputs, case.inputs, strict=False):
        if array is None or each.kind == "axis":
            continue
        if _is_ours(array):
            view = f"{each.name}.view(np.uint{8 * array.dtype.itemsize})).view(torch.{array.dtype.name})"
            lines.append(f"{each.name} = torch.from_numpy({view}\n")
        else:
            lines.append(f"{each.name} = torch.from_numpy({each.name})\n")
    return "".join(lines)


def _out_of(case: Case) -> str:
    data = case.inputs[0]
    assert data is not None
    if not _is_ours(data):
        return "got = got.numpy()\n"
    bits = f"torch.uint{8 * data.dtype.itemsize}"
    return f"import ml_dtypes\ngot = got.contiguous().view({bits}).numpy().view(ml_dtypes.{data.dtype.name})\n"


def _is_ours(array: np.ndarray) -> bool:
    """Whether PyTorch has the type and NumPy has not."""
    return array.dtype.name in ("bfloat16", *_NARROW)


def _gather(how: Plan) -> str:
    if how.kernel == "gather_elements":
        return f"got = torch.gather(data, {how.axis}, indices.long())\n"
    one = f"{{0}}{how.at('{1}')}" if how.kernel == "gather" else "{0}[{1}.unbind(-1)]"
    if how.batch_dims <= 0:
        return f"got = {one.format('data', 'indices')}\n"
    function = f"lambda data, indices: {one.format('data', 'indices')}"
    for _ in range(how.batch_dims):
        function = f"torch.vmap({function})"
    return f"got = {function}(data, indices)\n"


def _scatter(how: Plan) -> str:
    if how.kernel == "scatter_update":
        return f"got = data.clone()\ngot{how.at('indices')} = updates\n"
    if how.kernel == "scatter_elements":
        if how.reduction == "none":
            return f"got = data.scatter({how.axis}, indices.long(), updates)\n"
        arguments = f'{how.axis}, indices.long(), updates, "{_NAMES[how.reduction]}", include_self={how.include_self}'
        return f"got = data.scatter_reduce({arguments})\n"
    if how.reduction == "none":
        return f"{_TUPLE}got = data.index_put(at, updates)\n"
    if how.reduction in ("add", "sub"):
        return f"{_TUPLE}got = data.index_put(at, {'-' * (how.reduction == 'sub')}updates, accumulate=True)\n"
    raise NotAskedError(f"index_put has no {how.reduction}")


def _tensor_scatter(how: Plan) -> str:
    places = "start + torch.arange(length)"
    if how.mode == "circular":
        places = f"({places}) % past_cache.shape[{how.axis}]"
    return f"""\
got = past_cache.clone()
length = update.shape[{how.axis}]
starts = torch.zeros(len(got), dtype=torch.int64) if write_indices is None else write_indices
for n, start in enumerate(starts):
    got[n].index_copy_({how.axis - 1}, {places}, update[n])
"""
