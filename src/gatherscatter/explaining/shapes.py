"""The shape rules of a call with its numbers, and the rule that a failed call breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.trace import shape_of
from gatherscatter.explaining.wording import shape_text
from gatherscatter.operation import Form
from gatherscatter.specs.table import TABLE

# A scatter's updates have the shape of the elements that this gather would read from its targets.
READS = {"scatter_nd": "gather_nd", "scatter_elements": "gather_elements", "scatter_update": "gather"}
# Shapes that must be equal besides those of the updates. The input on the right is the one that an error names.
EQUAL = {
    "gather": [("data.shape[:batch_dims]", "indices.shape[:batch_dims]")],
    "gather_nd": [("data.shape[:batch_dims]", "indices.shape[:batch_dims]")],
    "gather_tree": [("step_ids.shape", "parent_ids.shape"), ("step_ids.shape[1:2]", "max_seq_len.shape")],
    "tensor_scatter": [
        ("past_cache.shape[:axis]", "update.shape[:axis]"),
        ("past_cache.shape[axis+1:]", "update.shape[axis+1:]"),
        ("past_cache.shape[:1]", "write_indices.shape"),
    ],
    "gather_reduce": [
        ("indices.shape", "per_sample_weights.shape"),
        ("indices.shape", "weights.shape"),
        ("indices.shape", "segment_ids.shape"),
        ("data.shape[:1]", "segment_ids.shape"),
    ],
}
_TERM = re.compile(r"(\w+)\.shape(?:\[([^:\]]*):([^\]]*)\])?")
_BAGS = re.compile(r"^\(.*,\)")  # the number of bags, where it is a value


def shape_rules(call: ExplainedCall) -> tuple[str, ...]:
    """One text per rule: the rule, the rule with its numbers, and the shape that follows from it.

    There is none if the shapes of the call don't fit; see `broken_rule`.
    """
    if not call.is_clear:
        return ()
    rules = [("output", _rule(call.row.kernel if call.is_fused else call.kernel, call))]
    if call.kernel in READS:
        rules.append(("updates", _rule(READS[call.kernel], call)))
    return tuple(text for name, rule in rules if rule and (text := _fill_in_rule(call, name, rule)))


def broken_rule(call: ExplainedCall) -> str:
    """The sizes of a failed call that disagree; empty if the call fails for another reason.

    >>> import gatherscatter as gs
    >>> print(gs.explain("gather_nd", [[1], [2]], [[0], [0], [0]], batch_dims=1).broken_rule)
    data.shape[:1] = (2,)  is not  indices.shape[:1] = (3,)
    """
    if call.is_clear or not isinstance(call.error, ValueError):
        return ""
    found = (text for at, text in _list_broken_rules(call) if at == getattr(call.error, "input", None))
    return next(found, "")


def _list_broken_rules(call: ExplainedCall) -> Iterator[tuple[str, str]]:
    """All rules that do not hold, each behind the input that is at fault."""
    rules = EQUAL.get(call.kernel, [])
    if call.kernel in READS:
        rules = [(_rule(READS[call.kernel], call), "updates.shape")]
    for whole, part in rules:
        sides = [_read_rule(call, rule) for rule in (whole, part)]
        (wanted, wanted_text), (given, given_text) = [(sum(parts, ()), " + ".join(texts)) for parts, texts in sides]
        if all(texts for _, texts in sides) and wanted != given:
            text = f"{wanted_text} = {shape_text(wanted)}  is not  {given_text} = {shape_text(given)}"
            yield part.partition(".")[0], text
    if call.indices is None or call.name("data") not in call.arrays:
        return
    data, indices = call.data.shape, call.indices.shape
    if call.kernel.form == Form.LANES:
        if len(data) != len(indices):
            yield "indices", f"the rank of data is {len(data)}, but that of indices is {len(indices)}"
        for axis, (most, size) in enumerate(zip(data, indices, strict=False)):
            if size > most and axis != call.axis:
                yield "indices", f"data.shape[{axis}] = {most}  is less than  indices.shape[{axis}] = {size}"
    if call.by_tuple and call.k > (rest := len(data[call.batch_dims :])):
        batch = f"[{call.batch_dims}:]" if call.batch_dims else ""
        yield "indices", f"len(data.shape{batch}) = {rest}  is less than  indices.shape[-1] = {call.k}"


def _rule(kernel: str, call: ExplainedCall) -> str:
    """The plainest rule of a kernel in the table."""
    own = call.row.shape_rule if call.row.kernel == kernel else ""
    rules = [own, *(row.shape_rule for row in TABLE if row.kernel == kernel)]
    rule = next((rule for rule in rules if _TERM.match(rule) or _BAGS.match(rule)), "")
    return rule if call.batch_dims else rule.replace("[batch_dims:]", "").replace("batch_dims+", "")


def _read_rule(call: ExplainedCall, rule: str) -> tuple[list[Coordinates], list[str]]:
    """The parts of the shape that a rule gives, and its terms with numbers; empty if an input is missing."""
    terms, numbers = _TERM.findall(rule), _numbers(call)
    if any(array not in call.arrays for array, _, _ in terms):
        return [], []
    bounds = [(array, _number(start, numbers), _number(stop, numbers)) for array, start, stop in terms]
    parts = [call.arrays[array].shape[start:stop] for array, start, stop in bounds]
    texts = [_slice_text(*bound) for bound in bounds]
    if number := _BAGS.match(rule):
        parts, texts = [call.bags_shape, *parts], [number.group(), *texts]
    return parts, texts


def _numbers(call: ExplainedCall) -> dict[str, int]:
    return {"axis": call.axis, "batch_dims": call.batch_dims, "k": call.k}


def _fill_in_rule(call: ExplainedCall, name: str, rule: str) -> str:
    parts, texts = _read_rule(call, rule)
    if not parts:
        return ""
    if rule == f"{texts[0]}":
        return f"{name}.shape = {rule} = {shape_text(parts[0])}"
    made: Coordinates = sum(parts, ())
    used = [f"{key} = {number}" for key, number in _numbers(call).items() if re.search(rf"\b{key}\b", rule)]
    lines = [
        f"{name}.shape = {rule}" + (f"    ({', '.join(used)})" if used else ""),
        *([written] if (written := " + ".join(texts)) != rule else ()),
        f"{' + '.join(map(shape_text, parts))} = {shape_text(made)}",
    ]
    if name == "output" and call.is_fused:
        lines.append(f"batch dims made one: {shape_text(shape_of(call, 'output'))}")
    indent = "\n" + " " * (len(name) + 7) + "= "
    return indent.join(dict.fromkeys(lines))


def _number(text: str, numbers: dict[str, int]) -> int | None:
    """``batch_dims+k`` as a number; None for an empty text."""
    if not text:
        return None
    return sum(numbers[part] if part in numbers else int(part) for part in text.split("+"))


def _slice_text(array: str, start: int | None, stop: int | None) -> str:
    if start is None and stop is None:
        return f"{array}.shape"
    return f"{array}.shape[{start or ''}:{'' if stop is None else stop}]"
