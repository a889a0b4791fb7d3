"""The proof that a rewritten model equals the original: both run, and every bit of every result is compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import onnx

from gatherscatter.specs.table import OpVersion
from gatherscatter_models.doctor.fixes.trial_inputs import (
    Arrays,
    Limits,
    Shapes,
    TrialInputs,
    empty_shapes,
    find_shapes,
)
from gatherscatter_models.doctor.onnx_nodes import OnnxSource
from gatherscatter_models.findings.nodes import INDEX_ROLES, Key, collect_call_values
from gatherscatter_models.interface import Model, ModelError, name_inputs
from gatherscatter_models.onnx.graph import walk
from gatherscatter_models.onnx.running import load_onnx
from gatherscatter_models.random_inputs import make_inputs

RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
RUNS = 12  # with generated inputs
SECONDS = 30.0  # after which no more of these begin

Outcome = dict[str, np.ndarray] | type[Exception]


@dataclass(frozen=True)
class Proof:
    """The numbers of runs of both models: with the inputs given, with random inputs, and those that both refused.

    ``inputs`` and ``results`` are those of the first run that succeeded.
    """

    given: int
    random: int
    refused: int
    inputs: Arrays
    results: Mapping[str, np.ndarray]


def prove(original: OnnxSource, rewritten: OnnxSource, given: Any | None, seed: int) -> Proof:
    """Run both models with the inputs given and with random ones; ModelError if results differ or no run succeeds."""
    limits: Limits = {}
    source = OnnxSource(_fix_seeds(original.proto))
    model, fixed = (
        source.load(_make_limit_observer(source, limits)),
        load_onnx(_fix_seeds(rewritten.proto), "reference"),
    )
    named = {} if given is None else name_inputs(model.inputs, given)
    # In the model's order, because an IR gets its inputs by position.
    first = {info.name: named[info.name] for info in model.inputs} if named else {}
    good: list[tuple[Arrays, dict[str, np.ndarray]]] = []
    refused = 0
    for inputs in _inputs(model, first if given is not None else None, limits, seed):
        mine, theirs = _try_model(model, inputs), _try_model(fixed, inputs)
        difference = _difference(mine, theirs)
        if difference:
            raise ModelError(f"the rewritten model gives other results, so it was not written: {difference}")
        if isinstance(mine, dict):
            good.append((inputs, mine))
        else:
            refused += 1
    if not good:
        raise ModelError("no generated inputs fit the model; give inputs to prove the rewritten model equal")
    shown = 0 if given is None else 1
    return Proof(shown, len(good) - shown, refused, *good[0])


def _fix_seeds(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy with fixed seeds. Its random numbers are the same in each run and in the other model."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    nodes = (node for body in (copy.graph, *copy.functions) for node in walk(body.node))
    for number, node in enumerate(node for node in nodes if not node.domain and node.op_type in RANDOM):
        if all(attribute.name != "seed" for attribute in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("seed", float(number)))
    return copy


def _inputs(model: Model, given: Arrays | None, limits: Limits, seed: int) -> Iterator[Arrays]:
    """Yield the inputs given, and random ones of the same shapes. Without inputs, find shapes that the model takes."""
    if given is not None:
        yield given
        shapes = {info.name: np.shape(given[info.name]) for info in model.inputs}
    else:
        found = find_shapes(model, lambda inputs: isinstance(_try_model(model, inputs), dict))
        if found is None:
            return
        shapes = found
    made_up = TrialInputs(model, shapes, limits, given or {}, seed)
    start = time.monotonic()
    for inputs in chain((made_up[number] for number in range(RUNS)), _empty_inputs(model, shapes, seed)):
        yield inputs
        if time.monotonic() - start > SECONDS:
            return


def _empty_inputs(model: Model, shapes: Shapes, seed: int) -> Iterator[Arrays]:
    """Yield inputs without elements that the model takes."""
    for empty in islice(empty_shapes(model.inputs, shapes), RUNS):
        inputs = make_inputs(model.inputs, seed=seed, shapes=dict(empty))
        if isinstance(_try_model(model, inputs), dict):
            yield inputs


def _make_limit_observer(source: OnnxSource, limits: Limits) -> Callable[..., None]:
    """Return an observer of gathers and scatters, for `TrialInputs`.

    It records which inputs of the model they read as indices, and the ranges of these.
    """
    sites = {site.key: site for site in source.sites}
    inputs = {value.name for value in source.proto.graph.input}

    def observe(key: Key, row: OpVersion, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        values = collect_call_values(sites[key], arrays, attributes)
        for operand in sites[key].operands:
            if operand is not None and operand.tensor in inputs:
                sizes = (values.indexed_sizes or [1]) if operand.role in INDEX_ROLES else []
                lowest = 0 if row.index_range == "nonnegative" else -1
                ranges = [(lowest * (size or 0), size or 0) for size in sizes]
                known = limits.setdefault(operand.tensor, ranges)
                pairs = zip(known, ranges, strict=False)
                limits[operand.tensor] = [(max(one[0], two[0]), min(one[1], two[1])) for one, two in pairs]

    return observe


def _try_model(model: Model, inputs: Arrays) -> Outcome:
    """Return the results, or the class of the error."""
    try:
        return model.run(inputs)
    except (TypeError, ValueError, IndexError, NotImplementedError, RuntimeError, MemoryError) as error:
        return next(kind for kind in (IndexError, TypeError, ValueError, Exception) if isinstance(error, kind))


def _difference(mine: Outcome, theirs: Outcome) -> str:
    """Describe the difference between two outcomes; empty if there is none."""
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        if mine is theirs:
            return ""
        return f"the original {_outcome_text(mine)}, the rewritten model {_outcome_text(theirs)}"
    for name, array in mine.items():
        if not same_bits(array, theirs[name]):
            return f"output {name!r} is not the same"
    return ""


def _outcome_text(outcome: Outcome) -> str:
    return "gives a result" if isinstance(outcome, dict) else f"raises {outcome.__name__}"


def same_bits(one: Any, other: Any) -> bool:
    """Whether two results are equal bit for bit, with the sign of zero. Any NaN equals any other NaN."""
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same_bits, one, other))
    if one is None or other is None:
        return one is other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "O":
        return bool(np.all(one == other))
    equal = (_bytes(one) == _bytes(other)).all(axis=-1)
    if equal.all():
        return True
    both_nan = (one != one) & (other != other)
    return bool(np.all(equal | both_nan.ravel()))


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the bytes of each element."""
    return np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
