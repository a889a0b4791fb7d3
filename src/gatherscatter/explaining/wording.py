"""Values, positions and steps in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.moves import Move
from gatherscatter.explaining.trace import CellChange, Step
from gatherscatter.messages.text import printable
from gatherscatter.operation import Kernel

WIDEST = 9  # characters in a cell
LONGEST = 200  # characters of a value in a sentence
SIGNS = {"add": "+", "sub": "-", "mul": "\u00d7"}


def value_text(value: Any, longest: int = WIDEST) -> str:
    """A value, short: numbers with up to four digits, strings in quotes and cut."""
    if isinstance(value, str | bytes):
        plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        cut = plain if len(plain) <= longest - 2 else plain[: longest - 3] + "\u2026"
        return f"'{printable(cut)}'"
    if isinstance(value, bool | np.bool):
        return str(bool(value))
    if isinstance(value, complex | np.complexfloating):
        return f"{value.real:.3g}{value.imag:+.3g}j"[:longest]
    if isinstance(value, int | np.integer):
        text = str(int(value))
        return text if len(text) <= longest else f"{float(value):.2e}"
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError):
        text = printable(str(value))
        return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def cell_name(array: str, at: Coordinates) -> str:
    """``data[0, 2]``; a scalar by its name alone."""
    return f"{array}[{', '.join(map(str, at))}]" if at else array


def tuple_text(values: Coordinates) -> str:
    """Index values from the array: one alone, several in parentheses."""
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"


def index_text(call: ExplainedCall, move: Move) -> str:
    """``indices[1] = (0, -1)``, and what negative values mean."""
    if move.index is None:
        return ""
    at = tuple(n for n in move.index.key if n is not None)
    text = f"{cell_name(move.index.array, at)} = {tuple_text(move.values)}"
    if move.bad:
        return text
    if move.is_negative:
        resolved = tuple(v if p is None else p for v, p in zip(move.values, move.resolved, strict=True))
        return f"{text}, which is {tuple_text(resolved)} counted from the front"
    wrapped = move.resolved and None not in move.resolved and move.resolved != move.values
    if wrapped and call.kernel != Kernel.TENSOR_SCATTER:
        return f"{text}, which {'wraps to' if call.mode == 'wrap' else 'means'} {tuple_text(_known(move))}"
    return text


def _known(move: Move) -> Coordinates:
    return tuple(-1 if p is None else p for p in move.resolved)


def step_text(call: ExplainedCall, step: Step) -> str:
    """A step in one sentence."""
    move, index = step.move, index_text(call, step.move)
    head = f"{index}: " if index else ""
    if move.bad:
        return f"{head}out of range; the call fails, and nothing is written"
    if call.error is not None:
        return f"{head}in range"
    if move.target is None:
        return f"{head}{'in no bag' if call.reduces_bags else f'{_name_reason(call, move)}; this update is dropped'}"
    if call.reduces_bags:
        return head + _describe_bag_step(call, step)
    if move.source is None:
        is_end = call.kernel == Kernel.GATHER_TREE
        what = "after the end token: the end token" if is_end else f"{_name_reason(call, move)}: zeros"
        return f"{head}{what} into {move.target}"
    if not step.changes:
        return f"{head}{move.source} \u2192 {move.target}: nothing, it has no elements"
    if not call.is_scatter:
        return f"{head}{move.source} \u2192 {move.target}: {_values([c.read for c in step.changes], step.total)}"
    return f"{head}{move.source} \u2192 {move.target}: {_describe_combination(call, step)}"


def _name_reason(call: ExplainedCall, move: Move) -> str:
    """Say why an index or a tuple names nothing."""
    is_skipped = call.operation.negative == "skip" and min(move.values, default=0) < 0
    return "negative, which names nothing" if is_skipped else "out of range"


def _describe_bag_step(call: ExplainedCall, step: Step) -> str:
    """A row that is added to its bag, or the row of a bag without members."""
    move, changes = step.move, step.changes
    assert move.target is not None
    if move.source is None:
        what = "the lowest number" if move.fills and call.fill_mode == "LOWEST" else "zeros"
        source = what if move.fills else f"out of range: {what}"
    else:
        source = str(move.source)
    if move.weight is not None:
        source += f" \u00d7 {value_text(call.arrays[move.weight.array][move.weight.key])}"
    arrow = f"{'no members: ' if move.fills else ''}{source} \u2192 {move.target}"
    if not changes:
        return f"{arrow}: nothing, it has no elements"
    first = changes[0].visits == 1
    made = _values([c.read for c in changes], step.total) if first else _describe_combination(call, step)
    return f"{arrow}: {made}"


def _values(values: list[Any], total: int) -> str:
    shown = ", ".join(value_text(value, 30) for value in values[:6])
    text = f"{shown}, \u2026" if total > min(len(values), 6) else shown
    return text if total == 1 else f"[{text}]"


def _describe_combination(call: ExplainedCall, step: Step) -> str:
    """Describe how the elements change: ``5 + 30 = 35``, or replaced."""
    changes, total = list(step.changes), step.total
    first = changes[0]
    before, read, after = (_values([getattr(c, key) for c in changes], total) for key in ("before", "read", "after"))
    again = first.visits > 1
    if call.reduction == "none":
        return f"{before} becomes {after}" + (", the last update wins" if again else "")
    if not call.include_self and not again:
        return f"{read} is the first update here and replaces data: {after}"
    if call.reduction in ("min", "max"):
        return f"{call.reduction}({before}, {read}) = {after}"
    if call.reduction == "mean":
        count = first.visits + call.include_self
        return f"mean of {count} contributions, the newest {read}: {after}"
    if call.type == "bool":
        word = {"add": "or", "mul": "and", "sub": "xor"}[call.reduction]
        return f"{before} {word} {read} = {after}"
    return f"{before} {SIGNS[call.reduction]} {read} = {after}{_describe_overflow(call, first)}"


def _describe_overflow(call: ExplainedCall, change: CellChange) -> str:
    """A remark where integers have left their type."""
    if not call.type.startswith(("int", "uint")) or call.reduction not in SIGNS:
        return ""
    before, read = int(change.before), int(change.read)
    exact = {"add": before + read, "sub": before - read, "mul": before * read}[call.reduction]
    return "" if exact == int(change.after) else f" ({exact} does not fit {call.type}, which wraps around)"


def shape_text(shape: Coordinates) -> str:
    """A shape as Python writes it."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def heading(call: ExplainedCall) -> str:
    """The operator and its attributes."""
    return ", ".join([call.op, *(f"{name} = {_attribute_text(value)}" for name, value in call.given.items())])


def _attribute_text(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= 40 else text[:39] + "\u2026"


def noun(call: ExplainedCall) -> str:
    """The noun for the counted indices."""
    if call.kernel in (Kernel.GATHER_TREE, Kernel.TENSOR_SCATTER, Kernel.GATHER_REDUCE):
        return "step"
    return "index tuple" if call.by_tuple else "index"


# The effect of an operator, for a reader who is new to it.
SENTENCES = {
    "gather": "Each index picks a whole slice of data along the axis. The output has each slice at the position of its "
    "index.",
    "gather_elements": "Each index picks one element of data. The index is its coordinate along the axis. The other "
    "coordinates are those of the position of the index.",
    "gather_nd": "Each row along the last dimension of indices is an address in data: {what}. The output has the "
    "values at these addresses.",
    "scatter_update": "Each index names a slice of data along the axis. The slice of updates at the same position "
    "{does}.",
    "scatter_elements": "Each update goes to one element of data and {does}. The index at the same position is the "
    "element's coordinate along the axis. The other coordinates are those of the position of the update.",
    "scatter_nd": "Each row along the last dimension of indices is an address in data: {what}. The update at the same "
    "position {does}.",
    "gather_reduce": "{members} {bags}. The rows of a bag {reduced}. A bag without members gives {filled}.",
    "tensor_scatter": "Each batch entry of update is written into the cache, one position after the other, from the "
    "entry's write index onwards.",
    "gather_tree": "Each beam is read from its last step back: the token there, then the parent's token one step "
    "before, and so on. After the first end token there are only end tokens.",
}
DOES = {
    "none": "replaces it",
    "add": "is added to it",
    "sub": "is subtracted from it",
    "mul": "is multiplied with it",
    "min": "is compared with it, and the lesser remains",
    "max": "is compared with it, and the greater remains",
    "mean": "becomes part of its mean",
}


REDUCED = {
    "add": "are added up",
    "mul": "are multiplied with each other",
    "min": "are compared, and the least of each column remains",
    "max": "are compared, and the greatest of each column remains",
    "mean": "become their mean",
}
BAGS = {
    "offsets": "Each offset says where in the {indices} a bag begins",
    "indptr": "Each number of indptr, except the last, says where in the {indices} a bag begins",
    "segment_ids": "The segment id at the same position is the number of its bag",
    None: "A bag is a row along the last dimension of indices",
}


def _bag_words(call: ExplainedCall) -> dict[str, str]:
    """The words for members, bags, reduction and empty bags in this call."""
    data = call.row.inputs[0].name
    picks = f"Each index picks a row of {data}" if call.indices is not None else f"Each row of {data} is a member"
    weighed = f", times its weight in {call.weights_input}" if call.weights_input else ""
    filled = "the lowest number" if call.fill_mode == "LOWEST" else "zeros"
    if "default" in call.arrays:
        filled = "default"
    if call.default_row is not None:
        filled = f"row {call.default_row} of {data}, which default_index names"
    bags = BAGS[call.bag_input].format(indices="indices" if call.indices is not None else "rows")
    return {
        "members": f"{picks}{weighed}.",
        "bags": bags,
        "reduced": REDUCED.get(call.reduction, REDUCED["add"]),
        "filled": filled,
    }


def sentence(call: ExplainedCall) -> str:
    """The effect of the operator, in a sentence or two."""
    what = "the coordinates of an element"
    if call.by_tuple and call.arrays.get("data") is not None:
        rest = call.data.ndim - call.batch_dims - call.k
        what = "empty, so it names all of data" if call.k == 0 else "the coordinates of a slice" if rest else what
    bag = _bag_words(call) if call.reduces_bags and call.arrays else {}
    text = SENTENCES[call.kernel].format(what=what, does=DOES.get(call.reduction, DOES["none"]), **bag)
    if call.kernel == Kernel.GATHER_ND and call.batch_dims:
        text += " Addresses are within their own batch entry."
    return text
