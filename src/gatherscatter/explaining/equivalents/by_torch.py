"""PyTorch."""

from __future__ import annotations

import math

from gatherscatter.explaining.equivalents.by_numpy import circular, notes, starts
from gatherscatter.explaining.equivalents.facts import HALVES, Facts

NAMES = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin", "mean": "mean"}
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16", "complex64",
          "complex128")  # fmt: skip


def code(facts: Facts) -> str:
    """The call in PyTorch."""
    facts.require(facts.kernel != "gather_tree", "PyTorch has no beam search; a loop does it, as in NumPy")
    facts.require(facts.call.type in _TYPES, f"PyTorch does not index tensors of {facts.call.type}")
    lines = ["import torch"]
    if facts.kernel == "tensor_scatter":
        return "\n".join([*lines, *_tensor_scatter(facts)])
    facts.require(not facts.missing or not facts.call.is_scatter, "PyTorch has no scatter that drops indices")
    lines += _notes(facts)
    if facts.indices.dtype != "int64":
        lines.append("indices = indices.long()")
    lines += _normalised(facts)
    return "\n".join([*lines, *(_scatter(facts) if facts.call.is_scatter else _gather(facts))])


def _notes(facts: Facts) -> list[str]:
    if facts.call.is_scatter:
        said = ["# repeated indices: PyTorch leaves open which update remains, here it is the last one"]
        said = said if facts.repeated and facts.reduction == "none" else []
        stepwise = facts.kernel == "scatter_nd" and _puts(facts)
        halves = facts.call.type in HALVES and facts.reduction in ("add", "mean", "mul", "sub")
        if halves and not facts.is_wide and not stepwise:
            said.append(f"# PyTorch computes {facts.call.type} in float32 and rounds once; here every step is rounded")
        if facts.call.type == "int64" and facts.reduction == "mean":
            said.append("# sums beyond 64 bits overflow in PyTorch; here they don't")
        return said
    return notes(facts, "PyTorch") if _is_subscript(facts) else []


def _is_subscript(facts: Facts) -> bool:
    """Whether the code is ``data[...]``, which knows negative indices; the functions don't."""
    plain = facts.kernel in ("gather", "gather_nd", "scatter_update")
    return plain or (facts.kernel == "scatter_nd" and _puts(facts))


def _puts(facts: Facts) -> bool:
    sums = facts.reduction in ("add", "sub") and facts.call.type != "bool"
    return (facts.call.include_self and sums) or facts.reduction == "none"


def _normalised(facts: Facts) -> list[str]:
    sizes = f"torch.tensor({list(facts.sizes)})" if facts.call.by_tuple else str(facts.sizes[0])
    if facts.call.rule == "wrap":
        return [f"indices = indices % {sizes}"]
    if facts.call.rule == "clip":
        last = f"{sizes} - 1" if facts.call.by_tuple else str(facts.sizes[0] - 1)
        return [f"indices = indices.clamp({'torch.tensor(0)' if facts.call.by_tuple else 0}, {last})"]
    if facts.negative and not facts.missing and not _is_subscript(facts):
        return [f"indices = torch.where(indices < 0, indices + {sizes}, indices)  # which must not be negative here"]
    return []


def _gather(facts: Facts) -> list[str]:
    if facts.missing:
        simple = (
            facts.kernel == "gather" and facts.batch == 0 and facts.sizes[0] > 0 and facts.indices.dtype != "uint64"
        )
        facts.require(simple, "zeros for indices out of range take several steps here")
        size = facts.sizes[0]
        return [
            f"inside = (indices >= {-size}) & (indices < {size})",
            f"output = data[{facts.columns}torch.where(inside, indices, 0)]",
            f"output[{facts.columns}~inside] = 0",
        ]
    if facts.kernel == "gather_elements":
        return [f"output = torch.gather(data, {facts.axis}, indices)"]
    if facts.kernel == "gather_nd":
        return _gather_nd(facts)
    batch, axis = facts.batch, facts.axis
    if batch == 0:
        return [f"output = data[{facts.columns}indices]"]
    moved = "data" if axis == batch else f"data.movedim({axis}, {batch})"
    lines = [f"output = {moved}[{facts.rows('torch')}indices]"]
    own = facts.index_rank - batch
    if axis != batch and own:
        lines.append(f"output = output.movedim({list(range(batch, batch + own))}, {list(range(axis, axis + own))})")
    return lines


def _gather_nd(facts: Facts) -> list[str]:
    if facts.k == 0:
        ones = ", ".join(["1"] * (facts.index_rank - 1 - facts.batch))
        parts = [f"*data.shape[:{facts.batch}]" if facts.batch else "", ones, f"*data.shape[{facts.batch}:]"]
        inner = ", ".join(part for part in parts if part)
        shape = f"indices.shape[:-1] + data.shape[{facts.batch}:]"
        lines = [f"output = data.reshape({inner}).expand({shape})"]
    elif facts.batch:
        lines = [f"output = data[({facts.rows('torch')}*indices.unbind(-1))]"]
    else:
        lines = ["output = data[indices.unbind(-1)]"]
    if facts.call.is_fused:
        size = " * ".join(f"data.shape[{axis}]" for axis in range(facts.batch))
        lines.append(f"output = output.reshape({size}, *output.shape[{facts.batch}:])")
    return lines


def _scatter(facts: Facts) -> list[str]:
    exact = facts.call.accumulate == "step" or facts.is_wide or facts.reduction not in ("add", "sub", "mul", "mean")
    facts.require(exact, "PyTorch chooses the type of the sum itself")
    facts.require(not facts.call.by_tuple or facts.k > 0, "PyTorch has no empty index tuples")
    if facts.kernel == "scatter_update":
        facts.require(facts.reduction == "none", "expand the indices, and use scatter_reduce")
        return ["output = data.clone()", f"output[{facts.columns}indices] = updates"]
    if facts.kernel == "scatter_elements" and facts.reduction == "none":
        return [f"output = data.scatter({facts.axis}, indices, updates)"]
    if facts.kernel == "scatter_nd" and _puts(facts):
        source = "-updates" if facts.reduction == "sub" else "updates"
        accumulate = ", accumulate=True" if facts.reduction != "none" else ""
        if facts.is_wide:
            wide = f"data.float().index_put(indices.unbind(-1), {source}.float(){accumulate})"
            return [f"output = {wide}.to(data.dtype)"]
        return [f"output = data.index_put(indices.unbind(-1), {source}{accumulate})"]
    return _reduced(facts)


def _reduced(facts: Facts) -> list[str]:
    """scatter_reduce; tuples become row numbers for it, and booleans numbers."""
    complex_product = facts.call.type.startswith("complex") and facts.reduction != "add"
    facts.require(not complex_product, f"scatter_reduce has no {facts.reduction} of complex numbers")
    is_bool = facts.call.type == "bool"
    facts.require(facts.reduction in NAMES or (facts.reduction == "sub" and not is_bool and facts.call.include_self),
                  f"scatter_reduce has no {facts.reduction} like this")  # fmt: skip
    name = {"add": "amax", "mul": "amin", "min": "amin", "max": "amax"}[facts.reduction] if is_bool else \
        NAMES[facts.reduction if facts.reduction != "sub" else "add"]  # fmt: skip
    working, back = _working(facts)
    data, updates = f"data{working}", f"updates{working}"
    updates = f"-{updates}" if facts.reduction == "sub" else updates
    lines, index, axis, after = [], "indices", facts.axis, ""
    if facts.call.by_tuple:
        rows, width, number = (
            math.prod(facts.sizes),
            math.prod(facts.data.shape[facts.k :]),
            math.prod(facts.indices.shape[:-1]),
        )
        lines.append(f"rows = {_row_number(facts)}")
        index, axis = f"rows.reshape({number}, 1).expand({number}, {width})", 0
        data, updates = f"{data}.reshape({rows}, {width})", f"{updates}.reshape({number}, {width})"
        after = ".reshape(data.shape)"
    keep = "" if facts.call.include_self else ", include_self=False"
    return [*lines, f'output = {data}.scatter_reduce({axis}, {index}, {updates}, "{name}"{keep}){after}{back}']


def _working(facts: Facts) -> tuple[str, str]:
    """To the type to compute in, and back: PyTorch has no sums of booleans, and means of integers overflow there."""
    if facts.call.type == "bool":
        return ".byte()", ".bool()"
    if facts.is_wide:
        return ".float()", ".to(data.dtype)"
    narrow = facts.call.type.startswith(("int", "uint")) and facts.call.type != "int64"
    return (".long()", ".to(data.dtype)") if narrow and facts.reduction == "mean" else ("", "")


def _row_number(facts: Facts) -> str:
    """``indices[..., 0] * 5 + indices[..., 1]``."""
    terms = []
    for j in range(facts.k):
        stride = math.prod(facts.sizes[j + 1 :])
        terms.append(f"indices[..., {j}]" + (f" * {stride}" if stride != 1 else ""))
    return " + ".join(terms)


def _tensor_scatter(facts: Facts) -> list[str]:
    axis = facts.axis
    return [
        "rows = torch.arange(past_cache.shape[0])[:, None]",
        f"positions = {starts(facts)}torch.arange(update.shape[{axis}]){circular(facts)}",
        "output = past_cache.clone()",
        f"output.movedim({axis}, 1)[rows, positions] = update.movedim({axis}, 1)",
    ]
