"""Read the .xml of an OpenVINO IR into plain records: layers, ports and edges. Nothing is interpreted yet.

A SAX pass keeps only the parts that the graph needs, so a file with a million empty elements takes no memory.
defusedxml refuses DTDs, entities and external references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from gatherscatter.extras import require
from gatherscatter.model_interface import ModelError

with require("defusedxml", text="OpenVINO IR files are read with defusedxml", install="gatherscatter[cli]"):
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
    from defusedxml.expatreader import DefusedExpatParser  # type: ignore[import-untyped]

_VERSIONS = (10, 11)
_MAX_DEPTH = 256
_PIECE, _LARGEST_PIECE = 1 << 16, 1 << 22  # bytes
_LONGEST = 1 << 25  # bytes of a tag or a comment, at most
_MAX_RANK = 64
_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_LAYER = ("net", "layers", "layer")


class Edge(NamedTuple):
    """One ``<edge>``: from an output port of a layer to an input port of another."""

    from_layer: int
    from_port: int
    to_layer: int
    to_port: int

    def __str__(self) -> str:
        return f"edge {self.from_layer}:{self.from_port} -> {self.to_layer}:{self.to_port}"


@dataclass(slots=True)
class Port:
    """An output port: its id, its tensor's names, and the type and shape that the file declares, perhaps wrongly."""

    id: int
    names: tuple[str, ...] = ()
    precision: str = ""
    dims: list[int | None] = field(default_factory=list)


@dataclass(slots=True)
class Layer:
    """One ``<layer>`` of the file. ``inputs`` are port ids."""

    id: int
    name: str
    type: str
    version: str
    output_names: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)

    def __str__(self) -> str:
        return f"layer {self.id} {quote(self.name)} ({quote_if_needed(self.type)})"

    @property
    def opset(self) -> int | None:
        """8 for ``version="opset8"``; None for ``extension`` and the like."""
        match = re.fullmatch(r"opset([1-9][0-9]?)", self.version, re.ASCII)
        return int(match[1]) if match else None


@dataclass(slots=True)
class Net:
    """The whole ``<net>``."""

    layers: list[Layer] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def read_net(path: Path) -> Net:
    """Read the .xml file; ModelError with one line of text if it is not an IR of version 10 or 11.

    A tag or a comment may have up to 32 MB.
    """
    handler = _NetHandler()
    try:
        with path.open("rb") as file:
            _Parser(handler).parse(file)
    except OSError as error:
        raise ModelError(f"cannot read it: {error.strerror or error}") from None
    except DefusedXmlException as error:
        raise ModelError(f"refused XML: {_REFUSED.get(type(error).__name__, 'forbidden construct')}") from None
    except SAXParseException as error:
        where = f"line {error.getLineNumber()}, column {error.getColumnNumber()}"
        raise ModelError(f"not well-formed XML ({where}: {error.getMessage()})") from None
    except ModelError:
        raise
    except (LookupError, ValueError) as error:  # encodings that expat does not have
        raise ModelError(f"not well-formed XML ({one_line(error)})") from None
    return handler.net


class _Parser(DefusedExpatParser):  # type: ignore[misc]
    """Doubles the size of the pieces while a tag is unfinished: Expat before 2.6 parses it again with each piece."""

    _bufsize: int

    def __init__(self, handler: ContentHandler) -> None:
        super().__init__(bufsize=_PIECE, forbid_dtd=True)
        self.setContentHandler(handler)
        self._place, self._unfinished = (1, 0), 0

    def feed(self, data: bytes, isFinal: bool = False) -> None:  # noqa: N803  as in the base class
        super().feed(data, isFinal)
        place = self.getLineNumber(), self.getColumnNumber()
        self._unfinished = self._unfinished + len(data) if place == self._place else 0
        self._place = place
        self._bufsize = min(2 * self._bufsize, _LARGEST_PIECE) if self._unfinished else _PIECE
        if self._unfinished > _LONGEST:
            where = f"line {place[0]}, column {place[1]}"
            raise ModelError(f"{where}: a tag or a comment has more than {_LONGEST >> 20} MB")


_REFUSED = {
    "DTDForbidden": "a document type declaration",
    "EntitiesForbidden": "an entity declaration",
    "ExternalReferenceForbidden": "a reference to another file",
}


def integer(text: str, what: str) -> int:
    """Parse a plain decimal number of at most 19 digits. Python's int() also accepts underscores and other digits."""
    if not _INTEGER.fullmatch(text):
        raise ModelError(f"{what} is {quote(text)}, not an integer")
    return int(text)


def quote(text: str) -> str:
    """Return the text in quotes. Control characters are escaped, and long text is cut."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


def quote_if_needed(text: str) -> str:
    """Return the text, with quotes only if it needs them."""
    return text if re.fullmatch(r"[\w.-]{1,80}", text) else quote(text)


def one_line(message: object) -> str:
    """Return the message of an exception on one line."""
    return " ".join(str(message).split())


class _NetHandler(ContentHandler):
    """Follows the path of open elements and reads the seven kinds that matter."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self._path: list[str] = []
        self._dim: list[str] | None = None
        self._seen_data = False
        self._starts: dict[tuple[str, ...], Callable[[AttributesImpl], None]] = {
            ("net",): self._net,
            _LAYER: self._layer,
            (*_LAYER, "data"): self._data,
            (*_LAYER, "input", "port"): self._input_port,
            (*_LAYER, "output", "port"): self._output_port,
            (*_LAYER, "output", "port", "dim"): self._start_dim,
            ("net", "edges", "edge"): self._edge,
        }

    def setDocumentLocator(self, locator: Locator) -> None:
        self._locator = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        if not self._path and name != "net":
            raise ModelError(f"not an OpenVINO IR: the root element is <{quote_if_needed(name)}>, not <net>")
        self._path.append(name)
        if len(self._path) > _MAX_DEPTH:
            raise ModelError(f"{self._line()}: elements are nested more than {_MAX_DEPTH} deep")
        start = self._starts.get(tuple(self._path)) if len(self._path) <= 6 else None
        if start is not None:
            start(attrs)

    def endElement(self, name: str) -> None:
        if self._dim is not None:
            self._end_dim("".join(self._dim).strip())
        self._path.pop()

    def characters(self, content: str) -> None:
        if self._dim is not None and len(self._dim) < 32:  # the parser delivers a number in one or more pieces
            self._dim.append(content[:32])

    def _net(self, attrs: AttributesImpl) -> None:
        version = self._integer(attrs, "version", "<net>")
        if version not in _VERSIONS:
            raise ModelError(f"IR version {version} is not supported ({' and '.join(map(str, _VERSIONS))} are)")

    def _layer(self, attrs: AttributesImpl) -> None:
        where = f"{self._line()}: <layer>"
        layer_id = self._integer(attrs, "id", where)
        name = self._text(attrs, "name", f"layer {layer_id}")
        kind = self._text(attrs, "type", f"layer {layer_id} {quote(name)}")
        version = self._text(attrs, "version", f"layer {layer_id} {quote(name)} ({quote_if_needed(kind)})")
        self.net.layers.append(Layer(layer_id, name, kind, version, _names(attrs.get("output_names", ""))))
        self._seen_data = False

    def _data(self, attrs: AttributesImpl) -> None:
        if self._seen_data:
            raise ModelError(f"{self.net.layers[-1]} has two <data> elements")
        self.net.layers[-1].attributes.update(attrs.items())
        self._seen_data = True

    def _input_port(self, attrs: AttributesImpl) -> None:
        layer = self.net.layers[-1]
        layer.inputs.append(self._integer(attrs, "id", f"{layer}: an input <port>"))

    def _output_port(self, attrs: AttributesImpl) -> None:
        layer = self.net.layers[-1]
        port_id = self._integer(attrs, "id", f"{layer}: an output <port>")
        layer.outputs.append(Port(port_id, _names(attrs.get("names", "")), attrs.get("precision", "")))

    def _edge(self, attrs: AttributesImpl) -> None:
        where = f"{self._line()}: <edge>"
        names = ("from-layer", "from-port", "to-layer", "to-port")
        self.net.edges.append(Edge(*(self._integer(attrs, name, where) for name in names)))

    def _start_dim(self, attrs: AttributesImpl) -> None:
        self._dim = []

    def _end_dim(self, text: str) -> None:
        self._dim = None
        dims = self.net.layers[-1].outputs[-1].dims
        if len(dims) < _MAX_RANK:
            # Declared shapes are only shown, so a bad one counts as unknown.
            dims.append(int(text) if _INTEGER.fullmatch(text) and not text.startswith("-") else None)

    def _line(self) -> str:
        return f"line {self._locator.getLineNumber()}"

    def _text(self, attrs: AttributesImpl, name: str, where: str) -> str:
        value: str | None = attrs.get(name)
        if value is None:
            raise ModelError(f"{where} lacks the attribute {name!r}")
        return value

    def _integer(self, attrs: AttributesImpl, name: str, where: str) -> int:
        value = integer(self._text(attrs, name, where), f"{where}: {name}")
        if value < 0:
            raise ModelError(f"{where}: {name} is negative: {value}")
        return value


def _names(text: str) -> tuple[str, ...]:
    """Split tensor names at commas. A comma inside a name is written with a backslash."""
    return tuple(_split_names(text)) if text else ()


def _split_names(text: str) -> Iterator[str]:
    for name in re.split(r"(?<!\\),", text):
        yield name.replace("\\,", ",")
