"""The gather and scatter layers of an OpenVINO IR, with the types and shapes that OpenVINO finds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gatherscatter.specs.table import OpVersion, ops
from gatherscatter.text import quote_if_needed
from gatherscatter_models.findings.nodes import Key, Observer, Operand, Site
from gatherscatter_models.interface import Model, ModelError
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.graph import CONSTANTS, Layer, list_layers, read_constant, read_ir, sizes_of
from gatherscatter_models.openvino.ir import IrModel
from gatherscatter_models.openvino.ir_call import LayerCall, bind

FAMILY = {row.op_type for row in ops() if row.domain == "openvino"}
WITH_BODIES = ("If", "Loop", "TensorIterator")


class IrSource:
    """An OpenVINO IR or an `openvino.Model` to examine."""

    def __init__(self, model: str | os.PathLike[str] | Any) -> None:
        is_file = isinstance(model, str | os.PathLike)
        self.name: str = Path(model).name if is_file else model.get_friendly_name()  # type: ignore[union-attr]
        self.notes: list[str] = []
        try:
            self._model = read_ir(model) if is_file else model
            self.sites = list(self._sites(list_layers(self._model)))
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter layer."""
        try:
            model = IrModel(self._model)
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None
        model.steps = tuple(
            step._replace(call=_ObservedCall(step.call, (step.position,), observe))  # type: ignore[arg-type]
            if isinstance(step.call.function, OpVersion)
            else step
            for step in model.steps
        )
        return model

    def _sites(self, layers: list[Layer]) -> Iterator[Site]:
        for position, layer in enumerate(layers):
            if layer.type in WITH_BODIES:
                self.notes.append(f"{layer}: its body is not examined; examine the ONNX model it was made from")
            if layer.type not in FAMILY or layer.opset is None:
                continue
            call = bind(layer)
            assert isinstance(call.function, OpVersion)
            row = call.function
            operands = tuple(
                _operand(known.name, layers[source.layer], source.output)
                for known, source in zip(row.inputs, layer.sources, strict=False)
            )
            attributes = {known.name: known.default for known in row.attributes} | call.attributes
            yield Site((position,), layer.name, str(layer), "", row, operands, attributes)


def _operand(role: str, layer: Layer, output: int) -> Operand:
    port = layer.node.output(output)
    try:
        kind = element_types.from_name(port.get_element_type().get_type_name()).numpy_name
    except ValueError:
        kind = None
    value = partial(read_constant, layer) if layer.type in CONSTANTS else None
    return Operand(role, layer.name, kind, sizes_of(port), value, layer.type == "ShapeOf")


class _ObservedCall(NamedTuple):
    """A call that passes its inputs to an observer first. It has the fields of `LayerCall`."""

    call: LayerCall
    key: Key
    observe: Observer

    @property
    def function(self) -> Any:
        return self.call.function

    def __call__(self, inputs: list[Any]) -> tuple[Any, ...]:
        self.observe(self.key, self.call.function, tuple(inputs), self.call.attributes)  # type: ignore[arg-type]
        return self.call(inputs)
