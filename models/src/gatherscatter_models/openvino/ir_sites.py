"""The gather and scatter layers of an OpenVINO graph, with the types and shapes that OpenVINO finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gatherscatter.specs.table import OpVersion, ops
from gatherscatter_models.findings.nodes import Operand, Site
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.graph import CONSTANTS, Layer, read_constant, sizes_of
from gatherscatter_models.openvino.ir_call import bind

FAMILY = {row.op_type for row in ops() if row.domain == "openvino"}


def find_sites(layers: list[Layer]) -> Iterator[Site]:
    """Yield the gathers and scatters of a graph. The key of each is the position of its layer."""
    for position, layer in enumerate(layers):
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
