"""The shape rules of the table of op versions, with the numbers of a call filled in."""

from __future__ import annotations

import re

from gatherscatter.explaining.call import Coordinates, ExplainedCall
from gatherscatter.explaining.trace import shape_of
from gatherscatter.explaining.wording import shape_text
from gatherscatter.specs.table import TABLE

# A scatter's updates have the shape of what this gather would read from the same places.
READS = {"scatter_nd": "gather_nd", "scatter_elements": "gather_elements", "scatter_update": "gather"}
_TERM = re.compile(r"(\w+)\.shape(?:\[([^:\]]*):([^\]]*)\])?")
_BAGS = re.compile(r"^\(.*,\)")  # the number of bags, where it is a value


def shape_rules(call: ExplainedCall) -> tuple[str, ...]:
    """One text per rule: as it is written, with its numbers, and what comes out.

    A rule whose input is missing, or none at all, is left out.
    """
    rules = [("output", _rule(call.row.kernel if call.is_fused else call.kernel, call))]
    if call.kernel in READS:
        rules.append(("updates", _rule(READS[call.kernel], call)))
    return tuple(text for name, rule in rules if rule and (text := _fill_in_rule(call, name, rule)))


def _rule(kernel: str, call: ExplainedCall) -> str:
    """The plainest rule of a kernel in the table."""
    own = call.row.shape_rule if call.row.kernel == kernel else ""
    rules = [own, *(row.shape_rule for row in TABLE if row.kernel == kernel)]
    rule = next((rule for rule in rules if _TERM.match(rule) or _BAGS.match(rule)), "")
    return rule if call.batch_dims else rule.replace("[batch_dims:]", "").replace("batch_dims+", "")


def _fill_in_rule(call: ExplainedCall, name: str, rule: str) -> str:
    terms = _TERM.findall(rule)
    if any(array not in call.arrays for array, _, _ in terms):
        return ""
    numbers = {"axis": call.axis, "batch_dims": call.batch_dims, "k": call.k}
    try:
        bounds = [(array, _number(start, numbers), _number(stop, numbers)) for array, start, stop in terms]
    except IndexError:
        return ""
    parts = [call.arrays[array].shape[start:stop] for array, start, stop in bounds]
    texts = [_slice_text(*bound) for bound in bounds]
    if number := _BAGS.match(rule):
        parts, texts = [call.bags_shape, *parts], [number.group(), *texts]
    if len(terms) == 1 and not any(terms[0][1:]):
        return f"{name}.shape = {rule} = {shape_text(parts[0])}"
    made: Coordinates = sum(parts, ())
    used = [f"{key} = {number}" for key, number in numbers.items() if re.search(rf"\b{key}\b", rule)]
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
    """``batch_dims+k`` as a number; None where nothing stands."""
    if not text:
        return None
    return sum(numbers[part] if part in numbers else int(part) for part in text.split("+"))


def _slice_text(array: str, start: int | None, stop: int | None) -> str:
    if start is None and stop is None:
        return f"{array}.shape"
    return f"{array}.shape[{start or ''}:{'' if stop is None else stop}]"
