"""The gradients of the functions, by their definitions: loops over all numbers, in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gatherscatter.operation import SCATTERS, Kernel
from tests.contract.calls import Call
from tests.contract.expectations import expect_call, make_plain

Element = tuple[str, tuple[int, ...]]
"""The name of an input, and a position in it."""


def list_differentiable(call: Call) -> tuple[str, ...]:
    """Return the inputs that have gradients."""
    return tuple(name for name in ("data", "updates", "weights") if name in call.inputs)


def find_gradients(call: Call, cotangent: np.ndarray) -> dict[str, np.ndarray]:
    """Return the gradients of the sum of the products of result and cotangent."""
    if call.function.startswith("prepare."):
        names = list_differentiable(call)
        return {name: each for name, each in find_gradients(make_plain(call), cotangent).items() if name in names}
    inputs = {name: np.asarray(call.inputs[name], np.float64) for name in list_differentiable(call)}
    gradients = {name: np.zeros(array.shape) for name, array in inputs.items()}
    reduction = call.options.get("reduction", _find_default(call))
    for slot, terms in _list_terms(call).items():
        values = [math.prod(float(inputs[name][element]) for name, element in term) * bool(term) for term in terms]
        for n, term in enumerate(terms):
            share = float(cotangent[slot]) * _differentiate(reduction, values, n)
            for k, (name, element) in enumerate(term):
                others = (float(inputs[other][at]) for j, (other, at) in enumerate(term) if j != k)
                gradients[name][element] += share * math.prod(others)
    return gradients


def _find_default(call: Call) -> str:
    return "add" if call.function == Kernel.GATHER_REDUCE else "none"


def _differentiate(reduction: str, values: list[float], n: int) -> float:
    """Return the derivative of a reduction of values for the value n."""
    if reduction == "none":
        return float(n == len(values) - 1)
    if reduction == "mul":
        return math.prod(values[:n] + values[n + 1 :])
    if reduction in ("min", "max"):
        best = (min if reduction == "min" else max)(values)
        return (values[n] == best) / values.count(best)
    return {"add": 1.0, "sub": -1.0 if n else 1.0, "mean": 1 / len(values)}[reduction]


def _list_terms(call: Call) -> dict[tuple[int, ...], list[tuple[Element, ...]]]:
    """Return for each number of the result the terms that are reduced.

    A term is a product of numbers of the inputs. An index that is out of range is a term without numbers, which is 0.
    """
    terms: dict[tuple[int, ...], list[tuple[Element, ...]]] = {}
    if call.function in SCATTERS:
        data = call.inputs["data"]
        written = _name_elements(call, data.shape)
        includes_self = call.options.get("include_self", True) and call.options.get("reduction", "none") != "none"
        for element, target in written.items():
            start: list[tuple[Element, ...]] = [(("data", target),)] if includes_self else []
            terms.setdefault(target, start).append((("updates", element),))
        untouched = set(np.ndindex(data.shape)) - set(terms)
        return terms | {element: [(("data", element),)] for element in untouched}
    if call.function != Kernel.GATHER_REDUCE:
        return {
            slot: [(("data", element),)] for slot, element in _name_elements(call, call.inputs["data"].shape).items()
        }
    members, shape = call.inputs["indices"], call.inputs["data"].shape
    gather = Call(
        "gather",
        {"indices": members.reshape(-1)},
        {name: call.options[name] for name in ("mode", "negative") if name in call.options},
    )
    sources = _name_elements(gather, shape)
    for member, *column in np.ndindex((members.size, *shape[1:])):
        weight = ("weights", tuple(int(n) for n in np.unravel_index(member, members.shape)))
        if call.options.get("negative") == "skip" and int(members.reshape(-1)[member]) < 0:
            continue
        source = sources.get((member, *column))
        factors: list[Element] = (
            [] if source is None else [("data", source), *([weight] if "weights" in call.inputs else [])]
        )
        for bag in _find_bag(call, member):
            terms.setdefault((*bag, *column), []).append(tuple(factors))
    return terms


def _find_bag(call: Call, member: int) -> list[tuple[int, ...]]:
    inputs = call.inputs
    if "segment_ids" in inputs:
        bag = int(inputs["segment_ids"][member])
        return [(bag,)] if bag >= 0 else []
    if "offsets" in inputs or "indptr" in inputs:
        starts = inputs["offsets"] if "offsets" in inputs else inputs["indptr"][:-1]
        return [(sum(int(start) <= member for start in starts) - 1,)]
    return [tuple(int(n) for n in np.unravel_index(member, inputs["indices"].shape)[:-1])]


def _name_elements(call: Call, shape: tuple[int, ...]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the element of data that each slot of the indices names. The oracle gathers the numbers of elements."""
    kernel = Kernel(call.function)
    gather = kernel.counterpart if kernel.is_scatter else kernel
    options = {
        name: value for name, value in call.options.items() if name in ("axis", "batch_dims", "mode", "negative")
    }
    options["mode"] = options.get("mode", "raise").replace("drop", "fill")
    numbers = np.arange(1, math.prod(shape) + 1).reshape(shape)
    found: Any = expect_call(Call(str(gather), {"data": numbers, "indices": call.inputs["indices"]}, options))
    elements = {slot: np.unravel_index(found[slot] - 1, shape) for slot in np.ndindex(found.shape) if found[slot]}
    return {slot: tuple(int(n) for n in element) for slot, element in elements.items()}
