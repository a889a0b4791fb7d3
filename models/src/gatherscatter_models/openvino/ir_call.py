"""Bind a layer to a function: a gather or scatter operator, or a function of the layer table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gatherscatter.messages.text import one_line, quote_if_needed
from gatherscatter.specs import table
from gatherscatter_models.interface import ModelError
from gatherscatter_models.openvino.graph import Layer
from gatherscatter_models.openvino.layers.attributes import arguments, choice, signature
from gatherscatter_models.openvino.layers.table import ALIASES, LAYERS

Array = NDArray[Any]
NEWEST_OPSET = 17


class LayerCall(NamedTuple):
    """A function over arrays, with its attributes."""

    function: Callable[..., Array | tuple[Array, ...]]
    attributes: dict[str, Any]

    def __call__(self, inputs: list[Array]) -> tuple[Array, ...]:
        """Call the function. A 0-d result stays an array."""
        result = self.function(*inputs, **self.attributes)
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else (np.asarray(result),)


def bind(layer: Layer) -> LayerCall:
    """Find the layer's function and read its attributes; ModelError if either is not possible."""
    if layer.opset is None or layer.opset > NEWEST_OPSET:
        raise _unknown(layer, f" of {quote_if_needed(layer.version)}")
    try:
        call = _bind_family(layer) or _bind_layer(layer)
    except ValueError as error:
        raise ModelError(f"{layer}: {one_line(error)}") from None
    if call is None:
        raise _unknown(layer, "")
    return call


def _bind_family(layer: Layer) -> LayerCall | None:
    assert layer.opset is not None
    try:
        row = table.find("openvino", layer.type, layer.opset)
    except LookupError:
        return None
    required = sum(not one.optional for one in row.inputs)
    _check_count(layer, required, len(row.inputs))
    given = layer.node.get_attributes()
    attributes = {one.name: given[one.name] for one in row.attributes if one.name in given}
    for one in row.attributes:
        if one.choices is not None and one.name in given:
            attributes[one.name] = choice(given[one.name], one.choices, one.name)
    return LayerCall(row, attributes)


def _bind_layer(layer: Layer) -> LayerCall | None:
    function = LAYERS.get(ALIASES.get(layer.type, layer.type))
    if function is None:
        return None
    takes = signature(function)
    _check_count(layer, takes.least, takes.most)
    return LayerCall(function, arguments(function, layer.node.get_attributes()))


def _check_count(layer: Layer, least: int, most: int | None) -> None:
    count = len(layer.sources)
    if count < least or (most is not None and count > most):
        allowed = str(least) if most == least else f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"it has {count} inputs and takes {allowed}")


def _unknown(layer: Layer, version: str) -> ModelError:
    hint = "--engine openvino runs the whole model in the openvino package"
    return ModelError(f"{layer} is of a type{version} that gatherscatter does not run; {hint}")
