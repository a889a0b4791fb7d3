"""einx, whose notation names axes."""

from __future__ import annotations

from gatherscatter.explaining.equivalents.facts import Facts

FUNCTIONS = {"none": "set_at", "add": "add_at", "sub": "subtract_at"}
_AXES = "abcdefgh"
_OWN = "ijklmnop"


def code(facts: Facts) -> str:
    """The call in einx."""
    facts.require(facts.kernel not in ("gather_tree", "tensor_scatter"), "einx has nothing of this kind")
    facts.require(facts.call.rule == "negative" or facts.call.rule == "nonnegative" or not facts.missing,
                  "einx does not say what becomes of indices out of range")  # fmt: skip
    facts.require(facts.call.rule not in ("wrap", "clip"), "einx does not say what becomes of indices out of range")
    full = all(array.size for array in facts.call.arrays.values())
    facts.require(full, "einx does not take arrays without elements")
    facts.require(facts.rank <= 8 and facts.index_rank <= 8, "more axes than letters")
    facts.require(not facts.call.by_tuple or facts.k > 0, "einx has no empty index tuples")
    facts.require(not facts.call.is_fused, "einx does not make batch dims one")
    if facts.kernel.endswith("elements"):
        facts.require(not facts.shorter, "in einx one axis has one size; slice data first")
    data, indices, rest = _axes(facts)
    lines = _lines(facts)
    if not facts.call.is_scatter:
        return "\n".join([*lines, f'output = einx.get_at("{data}, {indices} -> {rest}", data, indices)'])
    facts.require(facts.reduction in FUNCTIONS, f"einx has no {facts.reduction}_at")
    facts.require(facts.call.include_self or facts.reduction == "none", "einx always counts data in")
    facts.require(facts.call.type != "bool" or facts.reduction == "none", "einx does not combine booleans")
    facts.require(facts.call.accumulate == "step" or facts.reduction == "none", "einx leaves the sum to its backend")
    call = f'{FUNCTIONS[facts.reduction]}("{data}, {indices}, {rest} -> {data}", data, indices, updates)'
    return "\n".join([*lines, f"output = einx.{call}"])


def _lines(facts: Facts) -> list[str]:
    lines = ["indices = indices.astype(int)"] if facts.widens_indices else []
    if not facts.negative:
        return ["import einx", "# bad indices mean what they mean to the library of the arrays", *lines]
    sizes = f"np.array({list(facts.sizes)})" if facts.call.by_tuple else str(facts.sizes[0])
    return [
        "import einx",
        *(["import numpy as np"] if facts.call.by_tuple else []),
        *lines,
        f"indices = indices % {sizes}  # einx makes one number of all coordinates, and -1 another place of it",
    ]


def _axes(facts: Facts) -> tuple[str, str, str]:
    """The notation of data, of indices, and of the output or the updates."""
    names = list(_AXES[: facts.rank])
    if facts.kernel.endswith("elements"):
        own = ["i" if axis == facts.axis else name for axis, name in enumerate(names)]
        data = [f"[{name}]" if axis == facts.axis else name for axis, name in enumerate(names)]
        return " ".join(data), " ".join(own), " ".join(own)
    if facts.call.by_tuple:
        batch, first = names[: facts.batch], names[facts.batch : facts.batch + facts.k]
        after, own = names[facts.batch + facts.k :], list(_OWN[: facts.index_rank - 1 - facts.batch])
        data = [*batch, f"[{' '.join(first)}]", *after]
        return " ".join(data), " ".join([*batch, *own, f"[{facts.k}]"]), " ".join([*batch, *own, *after])
    own = list(_OWN[: facts.index_rank - facts.batch])
    before, after = names[: facts.axis], names[facts.axis + 1 :]
    data = [*before, f"[{names[facts.axis]}]", *after]
    return " ".join(data), " ".join([*names[: facts.batch], *own]), " ".join([*before, *own, *after])
