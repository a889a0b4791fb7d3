"""Code for einx, a library with named axes in its notation."""

from __future__ import annotations

from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.operation import Form, Kernel

FUNCTIONS = {"none": "set_at", "add": "add_at", "sub": "subtract_at"}
_AXES = "abcdefgh"
_OWN = "ijklmnop"


def code(call: LibraryCall) -> list[str]:
    """Write the call in einx."""
    call.require(not call.reduces_bags, "einx has no reduction over bags of different sizes")
    call.require(call.kernel not in (Kernel.GATHER_TREE, Kernel.TENSOR_SCATTER), "einx has nothing of this kind")
    in_range = not call.missing and call.mode not in ("wrap", "clip")
    call.require(in_range, "einx does not define what happens to indices out of range")
    full = all(array.size for array in call.arrays.values())
    call.require(full, "einx does not take arrays without elements")
    call.require(call.rank <= 8 and len(call.index_shape) <= 8, "more axes than letters")
    call.require(not call.by_tuple or call.k > 0, "einx has no empty index tuples")
    call.require(not call.is_fused, "einx does not make batch dims one")
    if call.kernel.form == Form.LANES:
        call.require(not call.shorter, "in einx one axis has one size; slice data first")
    data, indices, rest = _axes(call)
    lines = _lines(call)
    if not call.is_scatter:
        return [*lines, f'output = einx.get_at("{data}, {indices} -> {rest}", data, indices)']
    call.require(call.reduction in FUNCTIONS, f"einx has no {call.reduction}_at")
    call.require(call.include_self or call.reduction == "none", "einx always counts data in")
    call.require(call.type != "bool" or call.reduction == "none", "einx does not combine booleans")
    call.require(call.accumulate == "step" or call.reduction == "none", "einx leaves the sum to its backend")
    notation = f"{data}, {indices}, {rest} -> {data}"
    return [*lines, f'output = einx.{FUNCTIONS[call.reduction]}("{notation}", data, indices, updates)']


def _lines(call: LibraryCall) -> list[str]:
    lines = ["indices = indices.astype(int)"] if call.widens_indices else []
    if not call.negative:
        return ["import einx", "# bad indices mean what they mean to the library of the arrays", *lines]
    sizes = f"np.array({list(call.sizes)})" if call.by_tuple else str(call.sizes[0])
    return [
        "import einx",
        *(["import numpy as np"] if call.by_tuple else []),
        *lines,
        f"indices = indices % {sizes}  # einx makes one number of them; -1 would name a wrong element",
    ]


def _axes(call: LibraryCall) -> tuple[str, str, str]:
    """The notation of data, indices, and the output or the updates."""
    names = list(_AXES[: call.rank])
    if call.kernel.form == Form.LANES:
        own = ["i" if axis == call.axis else name for axis, name in enumerate(names)]
        data = [f"[{name}]" if axis == call.axis else name for axis, name in enumerate(names)]
        return " ".join(data), " ".join(own), " ".join(own)
    if call.by_tuple:
        batch, first = names[: call.batch_dims], names[call.batch_dims : call.batch_dims + call.k]
        after, own = names[call.batch_dims + call.k :], list(_OWN[: len(call.index_shape) - 1 - call.batch_dims])
        data = [*batch, f"[{' '.join(first)}]", *after]
        return " ".join(data), " ".join([*batch, *own, f"[{call.k}]"]), " ".join([*batch, *own, *after])
    own = list(_OWN[: len(call.index_shape) - call.batch_dims])
    before, after = names[: call.axis], names[call.axis + 1 :]
    data = [*before, f"[{names[call.axis]}]", *after]
    return " ".join(data), " ".join([*names[: call.batch_dims], *own]), " ".join([*before, *own, *after])
