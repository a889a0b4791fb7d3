"""Write OpenVINO IRs without the openvino package: small models for tests, examples and bug reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gatherscatter.system.files import replace_atomically
from gatherscatter_models.openvino import element_types
from gatherscatter_models.openvino.element_types import ElementType

Dim = int | str | None


class Output(NamedTuple):
    """A tensor of the model that is written: output ``port`` of layer number ``layer``."""

    layer: int
    port: int
    element_type: ElementType

    def output(self, port: int, element_type: str | None = None) -> Output:
        """Return another output of the same layer, made with ``outputs=`` of `IRWriter.layer`."""
        chosen = self.element_type if element_type is None else element_types.from_name(element_type)
        return Output(self.layer, port, chosen)


class IRWriter:
    """Collects layers and writes ``model.xml`` and ``model.bin``, which gatherscatter and OpenVINO can read.

    >>> import numpy as np
    >>> from gatherscatter_models.openvino.ir_write import IRWriter
    >>> writer = IRWriter("look-up")
    >>> ids = writer.parameter("ids", "i64", [None])
    >>> table = np.arange(6, dtype=np.float32).reshape(3, 2)
    >>> rows = writer.layer("Gather", "opset8", [table, ids, np.int64(0)], attributes={"batch_dims": 0})
    >>> writer.result("rows", rows)
    >>> import tempfile, pathlib, gatherscatter_models as gm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = writer.save(pathlib.Path(folder) / "look-up.xml")
    ...     gm.run(path, {"ids": np.array([2, 0])})["rows"]
    array([[4., 5.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, name: str = "model") -> None:
        self._net = ElementTree.Element("net", name=name, version="11")
        self._layers = ElementTree.SubElement(self._net, "layers")
        self._edges = ElementTree.SubElement(self._net, "edges")
        self._bytes = bytearray()
        self._result_names: dict[ElementTree.Element, list[str]] = {}  # by the port that the results read

    def parameter(self, name: str, element_type: str, shape: Sequence[Dim] | None) -> Output:
        """Add a model input.

        A dimension is a size, None for any size, or a range such as ``"1..8"``. Shape None means any rank.
        """
        kind = element_types.from_name(element_type)
        dims = "..." if shape is None else ",".join("?" if dim is None else str(dim) for dim in shape)
        data = {"shape": dims, "element_type": kind.name}
        return self._add(
            "Parameter",
            "opset1",
            name,
            [],
            data,
            outputs=[kind],
            shape=None if shape is None else _sizes(shape),
            tensor_name=name,
        )

    def constant(self, value: ArrayLike, name: str | None = None) -> Output:
        """Add a constant. Its bytes are stored in the .bin."""
        array: NDArray[Any] = np.asarray(value)
        kind = element_types.from_dtype(array.dtype)
        content = _pack_strings(array) if kind.dtype == element_types.STRING else _little_endian(array)
        content = content or b"\0"  # OpenVINO can't use a constant of zero bytes
        data = {
            "element_type": kind.name,
            "shape": ",".join(map(str, array.shape)),
            "offset": len(self._bytes),
            "size": len(content),
        }
        self._bytes += content
        return self._add("Const", "opset1", name, [], data, outputs=[kind], shape=array.shape)

    def layer(
        self,
        kind: str,
        version: str,
        inputs: Sequence[Output | ArrayLike],
        *,
        name: str | None = None,
        attributes: Mapping[str, object] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> Output:
        """Add any layer, e.g. ``layer("GatherND", "opset8", [data, indices], attributes={"batch_dims": 1})``.

        Arrays among the inputs become constants. ``outputs`` has the element types of the outputs. By default there is
        one output with the type of the first input. The first output is returned; `Output.output` returns the others.
        """
        feeding = [one if isinstance(one, Output) else self.constant(one) for one in inputs]
        kinds = [feeding[0].element_type] if outputs is None else [element_types.from_name(one) for one in outputs]
        return self._add(kind, version, name, feeding, dict(attributes or {}), outputs=kinds, shape=None)

    def result(self, name: str, source: Output) -> None:
        """Add a model output."""
        port = self._layers[source.layer].find("output")[source.port]  # type: ignore[index]
        self._result_names.setdefault(port, []).append(_escape_commas(name))
        self._add("Result", "opset1", name, [source], {}, outputs=[], shape=None)
        self._layers[-1].set("output_names", _escape_commas(name))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write ``path`` (.xml) and the .bin next to it; return the path."""
        file = Path(path)
        if file.suffix != ".xml":
            raise ValueError(f"an IR is an .xml file, not {file.name!r}")
        for port, names in self._result_names.items():
            port.set("names", ",".join([*filter(None, [port.get("names")]), *names]))
        self._result_names.clear()
        ElementTree.indent(self._net)
        with replace_atomically(file) as text, replace_atomically(file.with_suffix(".bin")) as weights:
            ElementTree.ElementTree(self._net).write(text, encoding="utf-8", xml_declaration=True)
            weights.write_bytes(self._bytes)
        return file

    def _add(
        self,
        kind: str,
        version: str,
        name: str | None,
        inputs: Sequence[Output],
        data: Mapping[str, object],
        *,
        outputs: Sequence[ElementType],
        shape: Sequence[int] | None,
        tensor_name: str | None = None,
    ) -> Output:
        number = len(self._layers)
        layer = ElementTree.SubElement(
            self._layers, "layer", id=str(number), name=name or f"{kind}_{number}", type=kind, version=version
        )
        if data:
            ElementTree.SubElement(layer, "data", {key: _attribute(value) for key, value in data.items()})
        if inputs:
            ports = ElementTree.SubElement(layer, "input")
            for port, source in enumerate(inputs):
                ElementTree.SubElement(ports, "port", id=str(port), precision=source.element_type.precision)
                self._edge(source, number, port)
        if outputs:
            ports = ElementTree.SubElement(layer, "output")
            for port, element_type in enumerate(outputs, len(inputs)):
                _output_port(ports, port, element_type, shape, tensor_name)
        return Output(number, 0, outputs[0] if outputs else inputs[0].element_type)

    def _edge(self, source: Output, layer: int, port: int) -> None:
        # OpenVINO numbers all ports of a layer consecutively: outputs follow inputs.
        inputs = self._layers[source.layer].find("input")
        start = source.port + (0 if inputs is None else len(inputs))
        ends = {"from-layer": source.layer, "from-port": start, "to-layer": layer, "to-port": port}
        ElementTree.SubElement(self._edges, "edge", {key: str(value) for key, value in ends.items()})


def _output_port(
    ports: ElementTree.Element, port: int, kind: ElementType, shape: Sequence[int] | None, name: str | None
) -> None:
    element = ElementTree.SubElement(ports, "port", id=str(port), precision=kind.precision)
    if name is not None:
        element.set("names", _escape_commas(name))
    for size in shape or ():
        ElementTree.SubElement(element, "dim").text = str(size)


def _sizes(shape: Sequence[Dim]) -> list[int]:
    """Return the sizes for a port, with -1 for each dimension that is not a fixed size."""
    return [dim if isinstance(dim, int) else -1 for dim in shape]


def _attribute(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _escape_commas(name: str) -> str:
    return name.replace(",", "\\,")


def _little_endian(array: NDArray[Any]) -> bytes:
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return (native.byteswap() if sys.byteorder == "big" else native).tobytes()


def _pack_strings(array: NDArray[Any]) -> bytes:
    """Pack strings in the layout of OpenVINO: count, 0, end offsets, UTF-8 bytes."""
    encoded = [str(item).encode() for item in array.ravel().tolist()]
    header = np.cumsum([0, *map(len, encoded)]).astype("<i4")
    return np.array(len(encoded), "<i4").tobytes() + header.tobytes() + b"".join(encoded)
