"""ONNX models: read and check them, and run them on the reference evaluator with this package's kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names of bfloat16, float8 and int4)
import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from gatherscatter.arrays.convert import element_type
from gatherscatter.specs import table
from gatherscatter.specs.own_operators import find_of_node
from gatherscatter.specs.rows import DOMAIN, DOMAIN_VERSION
from gatherscatter_models.interface import ModelError, TensorInfo, read_model_input
from gatherscatter_models.onnx.evaluator import Evaluator
from gatherscatter_models.onnx.fusion import FusingEvaluator
from gatherscatter_models.onnx.graph import (
    FunctionKey,
    callees_first,
    find_called,
    is_contributed,
    node_label,
    normalise,
    one_line,
    without_initializers,
)
from gatherscatter_models.onnx.tensors import ExternalData, check_strings, check_tensor, is_external, type_name
from gatherscatter_models.onnx.time_limit import node_time_limit
from gatherscatter_models.onnx.value_info import declared_dim

MAX_BYTES = 2**31 - 1  # of one protobuf message


class OnnxModel:
    """A loaded ONNX model. A run does not change it, so threads may share it."""

    def __init__(
        self,
        graph: onnx.GraphProto,
        evaluator: Evaluator,
        initializers: dict[str, np.ndarray],
        time_limit: float | None = None,
    ) -> None:
        infos = [tensor_info(value) for value in graph.input]
        self.inputs = tuple(info for info in infos if info.name not in initializers)
        self.outputs = tuple(tensor_info(value) for value in graph.output)
        self.node_count = len(graph.node)
        self._defaults = tuple(info for info in infos if info.name in initializers)
        self._evaluator = evaluator
        self._initializers = initializers
        self._node_time_limit = time_limit

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph. Inputs with a default are optional. The error of a node has a note with its name."""
        given = check_inputs(self.inputs, inputs, optional=self._defaults)
        evaluator = self._evaluator if progress is None else self._evaluator.reporting(progress)
        limit = node_time_limit.set(self._node_time_limit)
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are results like any other
                values = evaluator.run(None, {**self._initializers, **given})
        finally:
            node_time_limit.reset(limit)
        return {info.name: value for info, value in zip(self.outputs, values, strict=True)}

    @property
    def plan(self) -> str:
        """The steps of a run: one line for each, with the nodes that it runs."""
        return "\n".join(self._evaluator.describe_steps())


def load_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto, *, time_limit: float | None = None, fuse: bool = False
) -> OnnxModel:
    """Load a model from a file, external data included, or from a ``ModelProto``; raise `ModelError` if it is bad.

    ``time_limit`` is the number of seconds that a node may take. With ``fuse``, pairs of nodes run as one step. To
    observe single nodes, load the model without it.
    """
    with name_model_in_errors(model):
        checked, initializers = read_onnx(model)
        kind = FusingEvaluator if fuse else Evaluator
        return OnnxModel(checked.graph, _evaluator(checked, kind), initializers, time_limit)


@contextmanager
def name_model_in_errors(model: str | os.PathLike[str] | onnx.ModelProto) -> Iterator[None]:
    """Turn all errors in a block into ModelErrors that name the model."""
    source = "ModelProto" if isinstance(model, onnx.ModelProto) else str(os.fspath(model))
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{source}: {one_line(error)}") from error.__cause__
    except OSError as error:
        raise ModelError(f"{source}: {error.strerror or error}") from error
    except Exception as error:  # names that aren't UTF-8 (protobuf returns bytes), and unforeseen damage
        reason = one_line(f"{type(error).__name__}: {error}")
        raise ModelError(f"{source}: a part of it can't be read ({reason})") from error


def read_onnx(source: str | os.PathLike[str] | onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Read a model, check it as for a run, and normalise it. Return it without its main initializers, and these."""
    if isinstance(source, onnx.ModelProto):
        model, files = source, ExternalData()
    else:
        model, files = parse_onnx(Path(source)), ExternalData(Path(source))
    if not model.HasField("graph"):
        raise ModelError("not an ONNX model (it has no graph)")
    initializers: dict[str, np.ndarray] = {}
    for tensor in model.graph.initializer:
        where = f"initializer {tensor.name!r}"
        if not tensor.name or tensor.name in initializers:
            raise ModelError(f"{where}: there is one of that name already" if tensor.name else "a nameless initializer")
        array = files.load(tensor, where)
        array.flags.writeable = False  # it may also be an output, which the caller could change
        initializers[tensor.name] = array
    model = without_initializers(model)
    normalise(model)
    check_model(model, initializers, files)
    _check_defaults(model.graph.input, initializers)
    return model, initializers


def _evaluator(model: onnx.ModelProto, kind: type[Evaluator]) -> Evaluator:
    try:
        made: dict[FunctionKey, Evaluator] = {}
        for key, function in callees_first(model.functions, model.graph.node).items():
            made[key] = kind(function, functions=[made[callee] for callee in find_called(function.node, made)])
        functions = [made[key] for key in find_called(model.graph.node, made)]
        return kind(model.graph, opsets=opset_versions(model), functions=functions)
    except (ModelError, RecursionError):
        raise
    except Exception as error:  # the onnx package raises many types of errors about operators
        raise ModelError(one_line(error) or type(error).__name__) from error


def parse_onnx(path: Path) -> onnx.ModelProto:
    """Return the model in a file, unchecked and without its external data; ModelError if it is not an ONNX model."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelError(f"{size} bytes are more than an ONNX file can have; store large tensors as external data")
    return parse_bytes(path.read_bytes())


def parse_bytes(content: bytes) -> onnx.ModelProto:
    """Return the model in the bytes of a file, unchecked; ModelError if they are not an ONNX model."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise ModelError(f"not an ONNX model, or a truncated one ({one_line(error)})") from error
    return model


def _check_defaults(inputs: Iterable[onnx.ValueInfoProto], initializers: Mapping[str, np.ndarray]) -> None:
    defaults = [tensor_info(value) for value in inputs if value.name in initializers]
    check_inputs((), {info.name: initializers[info.name] for info in defaults}, optional=defaults)


def tensor_info(value: onnx.ValueInfoProto) -> TensorInfo:
    """Return the declaration of an input or output. A negative dimension counts as unknown."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return TensorInfo(value.name, (kind or "undefined").removesuffix("_type"), None)
    tensor = value.type.tensor_type
    shape = tuple(map(declared_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
    return TensorInfo(value.name, type_name(tensor.elem_type), shape)


_SPARSE = (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS)


@dataclass(frozen=True)
class NameScope:
    """The opsets, functions and values that the nodes of a graph or function may use."""

    opsets: dict[str, int]
    functions: dict[FunctionKey, onnx.FunctionProto]
    files: ExternalData
    checker: Any  # the onnx checker's context: the opsets
    place: str = ""  # " of function a.b", " of body of Loop 'x' (1/2)"
    in_function: bool = False
    outer: tuple[set[str], ...] = ()  # names of the enclosing graphs
    names: set[str] = field(default_factory=set)  # of this graph, as far as they are defined

    def knows(self, name: str) -> bool:
        """Whether a value of this name can be read here."""
        return name in self.names or any(name in names for names in self.outer)

    def define(self, name: str, what: str) -> None:
        """Add a name; ModelError if it is defined already."""
        if name in self.names:
            raise ModelError(f"{what}{self.place}: there is a value of that name already")
        self.names.add(name)


def check_model(model: onnx.ModelProto, initializers: Collection[str], files: ExternalData) -> None:
    """Raise `ModelError` if the model can't run. ``initializers`` are those of its main graph, already checked."""
    if model.ir_version > onnx.IR_VERSION:
        raise ModelError(f"IR version {model.ir_version} is newer than the installed onnx package ({onnx.IR_VERSION})")
    functions = {(function.domain, function.name): function for function in model.functions}
    if len(functions) < len(model.functions):
        raise ModelError("two functions have the same name (overloads aren't supported)")
    for key, function in functions.items():
        place = f" of function {'.'.join(key)}"
        opsets = opset_versions(function, place)
        scope = NameScope(opsets, functions, files, _checker_context(opsets), place, in_function=True)
        _check_body(function.node, function.input, function.output, scope)
    opsets = opset_versions(model)
    scope = NameScope(opsets, functions, files, _checker_context(opsets))
    _check_graph(model.graph, scope, initializers)


def opset_versions(proto: onnx.ModelProto | onnx.FunctionProto, place: str = "") -> dict[str, int]:
    """Return the opset imports as a mapping of domains to versions."""
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        if opsets.setdefault(entry.domain, entry.version) != entry.version:
            raise ModelError(f"two opsets of domain {entry.domain or 'ai.onnx'!r} are imported{place}")
    if not opsets and isinstance(proto, onnx.ModelProto) and proto.ir_version < 3:
        opsets[""] = 1  # before IR version 3 there were no opset imports
    newest = onnx.defs.onnx_opset_version()
    if "" in opsets and not 1 <= opsets[""] <= newest:
        raise ModelError(f"opset {opsets['']}{place} isn't supported; the installed onnx package has 1 to {newest}")
    return opsets


def _check_graph(graph: onnx.GraphProto, scope: NameScope, initializers: Collection[str] = ()) -> None:
    names = list(initializers)
    for tensor in graph.initializer:
        where = f"initializer {tensor.name!r}{scope.place}"
        names.append(tensor.name)
        if is_external(tensor):
            scope.files.embed(tensor, where)
        check_tensor(tensor, where)
        check_strings(tensor, where)
    if graph.sparse_initializer:
        raise ModelError(f"sparse initializers{scope.place} aren't supported")
    if len(set(names)) < len(names):
        raise ModelError(f"two initializers{scope.place} have the same name")
    inputs = [value.name for value in graph.input]
    defaults = set(inputs)
    for name in names:
        if name not in defaults:
            scope.define(name, f"initializer {name!r}")
    _check_body(graph.node, inputs, [value.name for value in graph.output], scope)


def _check_body(
    nodes: Collection[onnx.NodeProto], inputs: Iterable[str], outputs: Iterable[str], scope: NameScope
) -> None:
    for name in inputs:
        if not name:
            raise ModelError(f"an input{scope.place} has no name")
        scope.define(name, f"input {name!r}")
    for position, node in enumerate(nodes, 1):
        label = node_label(node, position, len(nodes)) + scope.place
        for name in node.input:
            if name and not scope.knows(name):
                raise _undefined(name, label, nodes)
        _check_node(node, label, scope)
        for name in filter(None, node.output):
            if any(name in names for names in scope.outer):
                raise ModelError(f"output {name!r} of {label}: an enclosing graph has a value of that name")
            scope.define(name, f"output {name!r} of {label}")
    for name in outputs:
        if not scope.knows(name):
            raise ModelError(f"output {name!r}{scope.place} is not an output of any node")


def _undefined(name: str, label: str, nodes: Iterable[onnx.NodeProto]) -> ModelError:
    if any(name in node.output for node in nodes):
        return ModelError(f"{label}: its input {name!r} is the output of a later node, or part of a cycle")
    return ModelError(f"{label}: its input {name!r} isn't defined anywhere")


def _check_node(node: onnx.NodeProto, label: str, scope: NameScope) -> None:
    attributes = [attribute.name for attribute in node.attribute]
    if len(set(attributes)) < len(attributes):
        raise ModelError(f"{label}: two attributes have the same name")
    for attribute in node.attribute:
        _check_attribute(attribute, f"attribute {attribute.name!r} of {label}", scope)
    if (node.domain, node.op_type) in scope.functions:
        _check_call(node, scope.functions[node.domain, node.op_type], label, scope)
    elif node.domain not in scope.opsets:
        raise ModelError(f"{label}: no opset of domain {node.domain or 'ai.onnx'!r} is imported")
    elif not _is_retired(node, scope):
        _check_operator(node, label, scope)


def _is_retired(node: onnx.NodeProto, scope: NameScope) -> bool:
    """Whether the operator is deprecated but still runs here (Scatter). It warns; the onnx checker would refuse it."""
    if node.domain:
        return False
    try:
        return table.find("onnx", node.op_type, scope.opsets[""]).deprecated
    except LookupError:
        return False


def _check_call(node: onnx.NodeProto, function: onnx.FunctionProto, label: str, scope: NameScope) -> None:
    if node.domain not in scope.opsets:
        raise ModelError(f"{label}: no opset of domain {node.domain!r} is imported")
    if len(node.input) > len(function.input) or len(node.output) > len(function.output):
        raise ModelError(
            f"{label}: the function has {len(function.input)} inputs and {len(function.output)} outputs;"
            f" the node has {len(node.input)} and {len(node.output)}"
        )
    given = {attribute.name for attribute in node.attribute}
    missing = [name for name in function.attribute if name not in given]
    if missing:
        raise ModelError(f"{label}: attribute {missing[0]!r} of the function is missing")


def _check_operator(node: onnx.NodeProto, label: str, scope: NameScope) -> None:
    if node.domain == DOMAIN:
        _check_own_operator(node, label, scope)
        return
    if is_contributed(node):
        if len(node.output) != 1:
            raise ModelError(f"{label}: the operator has one output; the node has {len(node.output)}")
        return
    if not onnx.defs.has(node.op_type, node.domain):
        advice = ""
        if node.domain not in ("", "ai.onnx", "ai.onnx.ml"):
            advice = "; for the operators of ONNX Runtime use gatherscatter_models.onnx.InferenceSession"
        raise ModelError(f"{label}: ONNX defines no such operator, and the model has no function of that name{advice}")
    try:
        onnx.checker.check_node(_strip_contents(node), scope.checker)
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{label}: {one_line(error)}") from None


def _check_own_operator(node: onnx.NodeProto, label: str, scope: NameScope) -> None:
    if scope.opsets[DOMAIN] != DOMAIN_VERSION:
        raise ModelError(f"{label}: domain {DOMAIN!r} has the opset {DOMAIN_VERSION}, not {scope.opsets[DOMAIN]}")
    if len(node.output) != 1:
        raise ModelError(f"{label}: the operator has one output; the node has {len(node.output)}")
    try:
        find_of_node(node)
    except LookupError as error:
        raise ModelError(f"{label}: {error.args[0]}") from None


def _checker_context(opsets: dict[str, int]) -> Any:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = opsets
    return context


def _check_attribute(attribute: onnx.AttributeProto, where: str, scope: NameScope) -> None:
    if attribute.ref_attr_name:
        if not scope.in_function:
            raise ModelError(f"{where} refers to an attribute of a function, but isn't in one")
        return
    if attribute.type in _SPARSE:
        raise ModelError(f"{where}: sparse tensors aren't supported")
    for tensor in _tensors(attribute):
        if is_external(tensor):
            scope.files.embed(tensor, where)
        check_tensor(tensor, where)
        check_strings(tensor, where)
    for graph in _graphs(attribute):
        place = f" of {where.removeprefix('attribute ')}"
        _check_graph(graph, replace(scope, place=place, outer=(*scope.outer, scope.names), names=set()))


def _tensors(attribute: onnx.AttributeProto) -> Iterable[onnx.TensorProto]:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return [attribute.t]
    return attribute.tensors if attribute.type == onnx.AttributeProto.TENSORS else ()


def _graphs(attribute: onnx.AttributeProto) -> Iterable[onnx.GraphProto]:
    if attribute.type == onnx.AttributeProto.GRAPH:
        return [attribute.g]
    return attribute.graphs if attribute.type == onnx.AttributeProto.GRAPHS else ()


def _strip_contents(node: onnx.NodeProto) -> onnx.NodeProto:
    """Return the node with empty tensors and graphs, so that the onnx checker looks at the rest only."""
    copy = onnx.NodeProto(op_type=node.op_type, domain=node.domain, name=node.name, input=node.input)
    copy.output.extend(node.output)
    for attribute in node.attribute:
        stub = copy.attribute.add()
        if attribute.ref_attr_name or not (list(_tensors(attribute)) or list(_graphs(attribute))):
            stub.CopyFrom(attribute)
            continue
        stub.name, stub.type = attribute.name, attribute.type
        if attribute.type == onnx.AttributeProto.TENSOR:
            stub.t.CopyFrom(onnx.TensorProto(data_type=attribute.t.data_type, dims=[0]))
        elif attribute.type == onnx.AttributeProto.GRAPH:
            stub.g.CopyFrom(onnx.GraphProto(name="stub"))
    return copy


NOT_TENSORS = ("sequence", "optional", "map", "sparse_tensor", "undefined")
_KINDS = "bifc"  # the kinds of Python's numbers; each can represent those before it


def check_inputs(
    expected: Sequence[TensorInfo], given: Mapping[str, Any], optional: Sequence[TensorInfo] = ()
) -> dict[str, Any]:
    """Return the given inputs as arrays of the declared types; ``optional`` ones may be absent."""
    known = {info.name: info for info in (*expected, *optional)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ModelError(f"the model has no input {_quote_names(unknown)}; its inputs are {_quote_names(known)}")
    missing = [info.name for info in expected if info.name not in given]
    if missing:
        raise ModelError(f"{'inputs' if len(missing) > 1 else 'input'} without an array: {_quote_names(missing)}")
    return {name: check_input(known[name], value) for name, value in given.items()}


def check_input(info: TensorInfo, value: Any) -> Any:
    """Return ``value`` as an array of the declared element type and shape, or raise `ModelError`."""
    if info.element_type in NOT_TENSORS:
        return value
    value = read_model_input(info.name, value)
    array = _to_strings(info, value) if info.element_type == "string" else _to_numbers(info, value)
    if info.shape is not None and not _shape_fits(array.shape, info.shape):
        raise ModelError(
            f"input {_quote_name(info.name)} must have shape {_dims(info.shape)}; got {_dims(array.shape)}"
        )
    return array


def _to_numbers(info: TensorInfo, value: Any) -> np.ndarray:
    dtype = np.dtype(info.element_type)
    if not hasattr(value, "dtype"):
        return _from_lists(info, value, dtype)
    array = np.asarray(value)
    if array.dtype == np.dtype(f"V{dtype.itemsize}") and dtype.isbuiltin == 2:
        array = array.view(dtype)  # np.load returns bfloat16, float8 and int4 as raw bytes
    if _type_name(array.dtype) != info.element_type:
        raise _wrong_type_error(info, _type_name(array.dtype))
    return array if array.dtype.isnative else array.astype(dtype)


def _from_lists(info: TensorInfo, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert Python numbers to the declared element type, unless that would change their kind."""
    try:
        natural = np.asarray(value)
        array = np.asarray(value, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(
            f"input {_quote_name(info.name)} can't become an array of {info.element_type}: {error}"
        ) from None
    if natural.size and _KINDS.find(natural.dtype.kind) > _kind(info.element_type):
        raise _wrong_type_error(info, _type_name(natural.dtype))
    return array


def _kind(element_type: str) -> int:
    """Return the position of an element type in `_KINDS`."""
    if element_type == "bool":
        return 0
    if element_type.startswith(("int", "uint")):
        return 1
    return 3 if element_type.startswith("complex") else 2


def _to_strings(info: TensorInfo, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind not in "UTO":
        raise _wrong_type_error(info, _type_name(array.dtype))
    array = array.astype(object)
    if not all(isinstance(element, str) for element in array.flat):
        raise _wrong_type_error(info, "objects that aren't str")
    return array


def _type_name(dtype: np.dtype[Any]) -> str:
    try:
        return element_type(dtype)
    except (TypeError, LookupError):
        return str(dtype)


def _wrong_type_error(info: TensorInfo, found: str) -> ModelError:
    return ModelError(f"input {_quote_name(info.name)} must be {info.element_type}; got {found}")


def _shape_fits(shape: tuple[int, ...], declared: tuple[int | str | None, ...]) -> bool:
    return len(shape) == len(declared) and all(
        not isinstance(dim, int) or dim == size for size, dim in zip(shape, declared, strict=True)
    )


def _dims(shape: Iterable[int | str | None]) -> str:
    return one_line("[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]")


def _quote_names(names: Iterable[str]) -> str:
    return one_line(", ".join(_quote_name(name) for name in names)) or "(none)"


def _quote_name(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}...")
