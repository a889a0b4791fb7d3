"""The graph of an `openvino.Model`: its layers in an order of execution, and the values of its constants.

OpenVINO reads the files. Nothing here runs in OpenVINO.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gatherscatter.messages.text import one_line, quote, quote_if_needed
from gatherscatter.system.processes import NoAnswerError, answer_lines, limit_memory, shared_process
from gatherscatter_models.interface import ModelError, begins_as_xml
from gatherscatter_models.openvino import element_types

CONSTANTS = ("Const", "Constant")
READ_MEMORY = 1 << 30  # bytes beyond those of a model of no size
_LONGEST = 300  # characters of a message of OpenVINO


class OutputPort(NamedTuple):
    """One tensor of the graph: output number ``output`` of the layer at position ``layer``."""

    layer: int
    output: int


class Layer(NamedTuple):
    """A node of OpenVINO, and the tensors that are its inputs."""

    node: Any
    type: str
    sources: tuple[OutputPort, ...]

    @property
    def name(self) -> str:
        return str(self.node.get_friendly_name())

    @property
    def version(self) -> str:
        """The name of its operation set, such as ``opset8``, or ``extension``."""
        return str(self.node.get_type_info().version_id)

    @property
    def opset(self) -> int | None:
        """8 for ``opset8``; None for operations outside the operation sets."""
        match = re.fullmatch(r"opset([1-9][0-9]?)", self.version, re.ASCII)
        return int(match[1]) if match else None

    def __str__(self) -> str:
        return f"layer {quote(self.name)} ({quote_if_needed(self.type)})"


def read_ir(path: str | os.PathLike[str]) -> Any:
    """Return the `openvino.Model` of an IR file.

    OpenVINO reads it in another process first, because some files end the process, as the finding
    openvino-segmentmax-no-members describes.

    Raises
    ------
    ModelError
        OpenVINO can't read the file. The message is one line.
    ImportError
        OpenVINO is not installed.
    """
    from gatherscatter_models.openvino.package import openvino

    file = Path(path)
    if not file.is_file():
        raise ModelError("there is no such file")
    if not begins_as_xml(file):
        raise ModelError("it is not XML")  # OpenVINO would look for other formats
    _check_weights(file)
    try:
        shared_process(__name__).ask(os.fsencode(file.absolute()))
        return openvino.Core().read_model(file)
    except NoAnswerError as error:
        raise ModelError(f"OpenVINO can't read it: {error}") from None
    except RuntimeError as error:
        raise ModelError(f"OpenVINO can't read it: {shorten(error)}") from None


def _check_weights(file: Path) -> None:
    """Refuse a .bin that leads to a file which the author of the model may not be allowed to read."""
    weights = file.with_suffix(".bin")
    if not os.path.lexists(weights):
        return  # OpenVINO says what it misses
    # A model cache keeps links to files elsewhere, but then to both.
    folders = (weights.parent.resolve(), file.resolve().parent)
    if not weights.is_file() or weights.resolve().parent not in folders:
        raise ModelError(f"{quote(weights.name)} is not a file of the model's folder")


def _try_to_read(path: bytes) -> bytes:
    """Read a file in OpenVINO. Raise the error of OpenVINO, shortened."""
    from gatherscatter_models.openvino.package import openvino

    file = Path(os.fsdecode(path))
    limit_memory(
        READ_MEMORY + 20 * sum(each.stat().st_size for each in (file, file.with_suffix(".bin")) if each.exists())
    )
    try:
        openvino.Core().read_model(file)
    except Exception as error:
        raise ModelError(shorten(error)) from None
    return b""


def shorten(error: Exception) -> str:
    """Return a message of OpenVINO on one line, without locations in its source. The end contains the reason.

    >>> shorten(RuntimeError("Check 'a < b' failed at src/core/src/x.cpp:71:\\nConverting input model\\nno id\\n"))
    'no id'
    """
    text = _LOCATIONS.sub("", one_line(error))
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= _LONGEST else "..." + text[3 - _LONGEST :]


_LOCATIONS = re.compile(r"Exception from \S+:\d+: |Check '.*?' failed at \S+:\d+: |Converting input model ")


def list_layers(model: Any) -> list[Layer]:
    """Return the layers on which a result depends, and the parameters. Each comes after the layers that it reads.

    Raises
    ------
    ModelError
        The model has no result.
    """
    if not model.get_results():
        raise ModelError("the model has no Result layer")
    nodes = model.get_ordered_ops()
    positions = {node.get_instance_id(): position for position, node in enumerate(nodes)}
    return [Layer(node, node.get_type_name(), _find_sources(node, positions)) for node in nodes]


def _find_sources(node: Any, positions: dict[int, int]) -> tuple[OutputPort, ...]:
    sources = (port.get_source_output() for port in node.inputs())
    return tuple(OutputPort(positions[each.get_node().get_instance_id()], each.get_index()) for each in sources)


def read_constant(layer: Layer) -> NDArray[Any]:
    """Return the values of a constant. The array is read-only, and a view of the file if the types allow it.

    Raises
    ------
    ModelError
        NumPy has no such element type, or a string is not valid.
    """
    element_type = type_of(layer.node.output(0), layer)
    try:
        array = _read_values(layer.node, element_type)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ModelError(f"{layer}: its values can't be read: {shorten(error)}") from None
    array.flags.writeable = False
    return array


def _read_values(node: Any, element_type: element_types.ElementType) -> NDArray[Any]:
    if element_type.dtype == element_types.STRING:
        return np.array(node.get_value_strings(), object).reshape(tuple(node.get_output_shape(0)))
    if element_type.is_narrow:
        return np.asarray(node.get_data(dtype=np.float32)).astype(element_type.dtype)
    array: NDArray[Any] = node.data
    array = array.view(element_type.dtype) if element_type.dtype == element_types.BFLOAT16 else array
    return array if array.flags.aligned else array.copy()


def type_of(port: Any, what: object) -> element_types.ElementType:
    """Return the element type of a port. Errors begin with ``what``.

    Raises
    ------
    ModelError
        NumPy has no such type.
    """
    try:
        return element_types.from_name(port.get_element_type().get_type_name())
    except ValueError as error:
        raise ModelError(f"{what}: {error}") from None


def sizes_of(port: Any) -> tuple[int | None, ...] | None:
    """Return the shape that OpenVINO finds for an output. None is an unknown rank or size."""
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return None
    return tuple(None if dim.is_dynamic else dim.get_length() for dim in shape)


if __name__ == "__main__":
    answer_lines(_try_to_read)
