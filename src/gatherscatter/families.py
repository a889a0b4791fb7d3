"""The functions of `gatherscatter.onnx` and `gatherscatter.openvino`, made from the table of op versions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import spec
from gatherscatter.errors import OpTypeError, OpValueError, integer_fault
from gatherscatter.versions import INDEX_RANGES, REQUIRED, TABLE, OpVersion, find


def family(domain: str) -> dict[str, Callable[..., np.ndarray]]:
    """The functions of a domain by operator name."""
    names = dict.fromkeys(row.op_type for row in TABLE if row.domain == domain)
    return {name: _function([row for row in TABLE if (row.domain, row.op_type) == (domain, name)]) for name in names}


def _function(rows: list[OpVersion]) -> Callable[..., np.ndarray]:
    newest = rows[-1]
    input_names = [known.name for known in newest.inputs]
    reduces = _reduces(rows)

    def call(*inputs: ArrayLike | None, opset: int | None = None, **options: Any) -> np.ndarray:
        row = newest if opset is None else _choose(newest, opset)
        by_name = {name: options.pop(name) for name in input_names if name in options}
        accumulate = options.pop("accumulate", None) if reduces else None
        return spec.call(row, tuple(_in_order(row, inputs, by_name)), options, accumulate)

    call.__name__ = newest.op_type
    call.__qualname__ = newest.op_type
    call.__module__ = f"gatherscatter.{newest.domain}"
    call.__doc__ = documentation(rows)
    call.__signature__ = signature(rows)  # type: ignore[attr-defined]
    return call


def _reduces(rows: list[OpVersion]) -> bool:
    return any(attribute.name == "reduction" for row in rows for attribute in row.attributes)


def _choose(newest: OpVersion, opset: int) -> OpVersion:
    if not isinstance(opset, int | np.integer):
        integer_fault(f"{newest.domain}.{newest.op_type}", "opset", opset)
    try:
        return find(newest.domain, newest.op_type, opset)
    except LookupError as error:
        raise OpValueError(str(error.args[0]), op=f"{newest.domain}.{newest.op_type}", input="opset") from None


def _in_order(
    row: OpVersion, inputs: tuple[ArrayLike | None, ...], by_name: dict[str, ArrayLike | None]
) -> list[ArrayLike | None]:
    """Inputs that were given by position and by name, in the order of the specification."""
    for known in row.inputs[: len(inputs)]:
        if known.name in by_name:
            raise OpTypeError(f"{row.name}: the input {known.name} is given twice", op=row.name, input=known.name)
    return [*inputs, *(by_name.get(known.name) for known in row.inputs[len(inputs) :])]


def signature(rows: list[OpVersion]) -> inspect.Signature:
    """Inputs and attributes of all versions of an operator, ``opset``, and ``accumulate`` if it has reductions."""
    parameter = inspect.Parameter
    inputs = [
        parameter(
            known.name,
            parameter.POSITIONAL_OR_KEYWORD,
            default=None if known.optional else parameter.empty,
            annotation="ArrayLike | None" if known.optional else "ArrayLike",
        )
        for known in rows[-1].inputs
    ]
    kinds = {"int": "int", "bool": "bool", "string": "str"}
    attributes = {
        attribute.name: parameter(
            attribute.name,
            parameter.KEYWORD_ONLY,
            default=parameter.empty if attribute.default is REQUIRED else attribute.default,
            annotation=kinds[attribute.type],
        )
        for row in rows
        for attribute in row.attributes
    }
    ours = {"opset": "int | None"} | ({"accumulate": "str | None"} if _reduces(rows) else {})
    more = [parameter(name, parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in ours.items()]
    return inspect.Signature([*inputs, *attributes.values(), *more], return_annotation="np.ndarray")


def documentation(rows: list[OpVersion]) -> str:
    """The docstring of an operator."""
    newest = rows[-1]
    lines = [
        f"{newest.op_type} of {'ONNX' if newest.domain == 'onnx' else 'OpenVINO'}, versions "
        f"{', '.join(str(row.version) for row in rows)}.",
        "",
        f"Runs as `gatherscatter.{newest.kernel}`, with exactly the types, attributes, ranges and errors of the newest",
        "version that is not above ``opset`` (default: the newest).",
        "",
        f"Result: ``{newest.output}`` of shape {newest.shape_rule} and of the type of {newest.inputs[0].name}.",
    ]
    if _reduces(rows):
        lines += [
            "",
            "``accumulate``: 'step', 'wide' or 'exact' instead of the specification's own way to add up floats,",
        ]
        lines += [f"which is {spec.OWN_WAY[newest.domain]}; see `gatherscatter.scatter_nd`."]
    for row in rows:
        attributes = ", ".join(f"{a.name}={a.default!r}" for a in row.attributes) or "none"
        lines += [
            "",
            f"Version {row.version}{' (deprecated)' if row.deprecated else ''}",
            f"    attributes: {attributes}",
            f"    element types: {', '.join(row.element_types)}",
            f"    index types: {', '.join(row.index_types) or 'those of the elements'}",
            f"    index range: {INDEX_RANGES[row.index_range]}",
            f"    source: {row.source}",
        ]
    return "\n".join([*lines, "", "Raises TypeError, ValueError and IndexError as `gatherscatter.spec.call` does."])
