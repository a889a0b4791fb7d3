"""Compare an exported model with its module, and find the first node that departs."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gatherscatter.arrays.convert import is_float
from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.system.extras import require

with require("onnxruntime", text="check_export runs the model in ONNX Runtime", install="onnxruntime"):
    import onnxruntime  # type: ignore[import-untyped]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class ExportReport:
    """The outcome of `check_export`. It is true if all results agree.

    Attributes
    ----------
    runs : the number of inputs with which both were run
    skipped : the number of drawn inputs that the module refused
    node : the first node whose result departs, as its operator and its name; None if all results agree
    inputs : which inputs show the departure: "given" or "drawn (3)"
    text : one sentence with the largest difference, or with the error of ONNX Runtime
    """

    runs: int
    skipped: int
    node: str | None = None
    inputs: str | None = None
    text: str = "All results agree."

    def __bool__(self) -> bool:
        return self.node is None

    def __str__(self) -> str:
        ran = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        if self.node is None:
            return f"{ran}: {self.text}"
        return f"{ran}: with the {self.inputs} inputs, {self.node} is the first node that departs. {self.text}"


def check_export(
    module: torch.nn.Module,
    inputs: Sequence[Tensor],
    model: Any,
    *,
    draws: int = 8,
    seed: int = 0,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> ExportReport:
    """Run a module in PyTorch and its exported model in ONNX Runtime, and compare their results.

    Both run with the given inputs. Then they run with drawn ones, in which tensors of integers and masks are different:
    values are repeated, and some are negative. In some of them, a vector that ascends from 0 still does, as offsets
    must. If the module calls `torch.segment_reduce`, which can read other memory, vectors that may be lengths or
    offsets stay within the data. Drawn inputs that the module refuses are skipped. The module runs in evaluation mode.

    ONNX Runtime can't exchange bfloat16 with Python. Such inputs and results of the model are cast from and to float32,
    which changes no value.

    Parameters
    ----------
    module : torch.nn.Module
    inputs : sequence of tensors
        The positional arguments of the module.
    model : path, onnx.ModelProto or torch.onnx.ONNXProgram
        What `torch.onnx.export` made of the module and the inputs.
    draws : int
        The number of drawn inputs.
    seed : int
        Decides what is drawn.
    rtol, atol : float
        Floats agree if they differ by at most ``atol + rtol * abs(expected)``. For halves, ``rtol`` is at least four
        times the distance of 1 and the next number. Other values must be equal.

    Returns
    -------
    ExportReport
        It is true if all results agree. Otherwise it names the first node whose result departs.

    Raises
    ------
    TypeError
        An input is not a tensor.
    ValueError
        The model has other inputs or results than the module.
    ImportError
        ONNX Runtime is not installed.

    >>> import torch, warnings
    >>> from gatherscatter_models.torch import check_export, onnx_translations
    >>> class Mean(torch.nn.Module):
    ...     def forward(self, data, index, source):
    ...         return data.scatter_reduce(0, index, source, "mean")
    >>> module, table = Mean().eval(), onnx_translations(aten=True)
    >>> inputs = torch.zeros(2), torch.tensor([1, 0, 1]), torch.tensor([1.0, 5.0, 2.0])
    >>> with warnings.catch_warnings(action="ignore"):  # of PyTorch about itself
    ...     model = torch.onnx.export(module, inputs, dynamo=True, custom_translation_table=table, verbose=False)
    >>> bool(check_export(module, inputs, model))
    True
    """
    given: Any
    for number, given in enumerate(inputs):
        if not isinstance(given, Tensor):
            text = f"check_export: inputs[{number}] must be a tensor, not {type(given).__name__}"
            raise OpTypeError(text, op="check_export", input="inputs")
    training = module.training
    try:
        return _compare(module.eval(), inputs, _load(model), draws, seed, rtol, atol=atol)
    finally:
        module.train(training)


def _compare(
    module: torch.nn.Module,
    inputs: Sequence[Tensor],
    proto: onnx.ModelProto,
    draws: int,
    seed: int,
    rtol: float,
    *,
    atol: float,
) -> ExportReport:
    runs = skipped = 0
    try:
        session = _make_session(proto)
    except Exception as error:  # ONNX Runtime has several classes of errors
        return _report_failure(runs, skipped, "given", error)
    unchecked = _UncheckedBags()  # type: ignore[no-untyped-call]
    for label, given in _draw_inputs(inputs, draws, np.random.default_rng(seed), unchecked):
        try:
            with torch.no_grad(), unchecked:
                expected = _flatten(module(*copy.deepcopy(given)))
        except Exception as error:  # of any kind: the module may check its inputs itself
            if label == "given":
                raise
            del error
            skipped += 1
            continue
        runs += 1
        arrays = _name_inputs(session, given)
        try:
            found = _run(session, arrays)
        except Exception as error:
            return _report_failure(runs, skipped, label, error)
        _check_count("results", len(expected), len(found))
        for (name, other), one in zip(found.items(), expected, strict=True):
            if not _agree(one, other, rtol, atol):
                node, difference = _find_departure(module, given, proto, arrays, rtol, atol)
                return ExportReport(
                    runs, skipped, node or f"output {name!r}", label, difference or _describe(one, other)
                )
    return ExportReport(runs, skipped)


def _load(model: Any) -> onnx.ModelProto:
    if isinstance(model, str | os.PathLike):
        return onnx.load(os.fspath(model))
    proto = getattr(model, "model_proto", model)
    if not isinstance(proto, onnx.ModelProto):
        text = f"check_export: model must be a path, a ModelProto or an ONNXProgram, not {type(model).__name__}"
        raise OpTypeError(text, op="check_export", input="model")
    return proto


def _make_session(proto: onnx.ModelProto) -> Any:
    proto = _exchange_floats(proto)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # an error is raised, too
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _exchange_floats(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with float32 instead of inputs and outputs of bfloat16."""
    proto = copy.deepcopy(proto)
    before: list[onnx.NodeProto] = []
    after: list[onnx.NodeProto] = []
    for info, nodes, to in (
        *((info, before, onnx.TensorProto.BFLOAT16) for info in proto.graph.input),
        *((info, after, onnx.TensorProto.FLOAT) for info in proto.graph.output),
    ):
        if info.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            own, name = info.name, f"{info.name}{_AS_FLOAT}"
            ends = ([name], [own]) if nodes is before else ([own], [name])
            nodes.append(onnx.helper.make_node("Cast", *ends, to=to))
            info.name, info.type.tensor_type.elem_type = name, onnx.TensorProto.FLOAT
    nodes = [*before, *proto.graph.node, *after]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    return proto


_AS_FLOAT = ":float32"


def _run(session: Any, arrays: Arrays) -> dict[str, np.ndarray]:
    """Run the model. Results have the types of the model."""
    found = zip((output.name for output in session.get_outputs()), session.run(None, arrays), strict=True)
    return {
        name.removesuffix(_AS_FLOAT): array.astype(ml_dtypes.bfloat16) if name.endswith(_AS_FLOAT) else array
        for name, array in found
    }


def _to_array(tensor: Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


def _name_inputs(session: Any, given: Sequence[Tensor]) -> Arrays:
    """Map the inputs of the model to arrays."""
    names = [info.name for info in session.get_inputs()]
    _check_count("inputs", len(given), len(names))
    plain = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor for tensor in given)
    return {name: tensor.detach().numpy() for name, tensor in zip(names, plain, strict=True)}


def _check_count(what: str, module: int, model: int) -> None:
    if module != model:
        text = f"check_export: the module has {module} {what}, but the model has {model}"
        raise OpValueError(text, op="check_export", input="model")


# -------------------------------------------------------------------------------------------------- drawing inputs


def _draw_inputs(
    inputs: Sequence[Tensor], draws: int, generator: np.random.Generator, unchecked: _UncheckedBags
) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    yield "given", tuple(inputs)
    seen = [tuple(inputs)]
    for number in range(draws):
        drawn = tuple(_draw(tensor, inputs if unchecked.found else (), generator, number) for tensor in inputs)
        if not any(all(map(torch.equal, drawn, others)) for others in seen):
            yield f"drawn ({number + 1})", drawn
            seen.append(drawn)


class _UncheckedBags(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds out whether the module calls an operator that reads the memory that lengths or offsets name unchecked."""

    found = False

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        self.found = self.found or function is torch.ops.aten.segment_reduce.default
        return function(*arguments, **(keywords or {}))


def _draw(tensor: Tensor, inputs: Sequence[Tensor], generator: np.random.Generator, number: int) -> Tensor:
    """Draw integers from those of the tensor, so that they stay in range. In odd draws, some become negative.

    ``inputs`` are given if the module has bags without checks. Vectors then keep within the sizes of the others.
    """
    if tensor.is_floating_point() or tensor.is_complex() or tensor.numel() == 0:
        return tensor
    values = tensor.numpy()
    if tensor.dtype == torch.bool:
        return torch.from_numpy(generator.permutation(values.ravel()).reshape(values.shape))
    sizes = {size for other in inputs if other is not tensor for size in other.shape}
    is_line = values.ndim == 1 and values.min() >= 0
    may_be_lengths = is_line and int(values.sum()) in sizes
    drawn = generator.choice(values.ravel(), values.shape)
    if is_line and values[0] == 0 and (np.diff(values) >= 0).all():  # where bags begin
        if number % 4 < 2 or may_be_lengths or int(values[-1]) in sizes:
            drawn[0], drawn[-1] = values[0], values[-1]
            too_long = may_be_lengths and drawn.sum() > values.sum()
            return torch.from_numpy(values if too_long else np.sort(drawn))
    elif may_be_lengths:
        return torch.from_numpy(drawn if drawn.sum() <= values.sum() else generator.permutation(values))
    if number % 2 == 1 and values.min() >= 0:
        below = generator.integers(-1 - values.max(), 0, values.shape)
        drawn = np.where(generator.random(values.shape) < 0.5, drawn, below)
    return torch.from_numpy(drawn.astype(values.dtype, copy=False))


# ------------------------------------------------------------------------------------------------ comparing values


def _flatten(result: Any) -> list[np.ndarray]:
    leaves, _ = torch.utils._pytree.tree_flatten(result)
    return [_to_array(leaf) for leaf in leaves if isinstance(leaf, Tensor)]


def _agree(expected: np.ndarray, found: np.ndarray, rtol: float, atol: float) -> bool:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if not is_float(expected.dtype):
        return bool(np.array_equal(expected, found))
    limits: Any = ml_dtypes.finfo
    rtol = max(rtol, 4 * float(limits(expected.dtype).eps))
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.allclose(_widen(found), _widen(expected), rtol=rtol, atol=atol, equal_nan=True))


def _widen(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def _describe(expected: np.ndarray, found: np.ndarray) -> str:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        kinds = [f"{each.dtype} of shape {each.shape}" for each in (expected, found)]
        return f"PyTorch has {kinds[0]}, ONNX Runtime {kinds[1]}."
    expected, found = _widen(expected), _widen(found)
    differs = ~np.isclose(found, expected, rtol=0, atol=0, equal_nan=expected.dtype.kind in "fc")
    with np.errstate(all="ignore"):
        sizes = np.where(differs, np.abs(np.subtract(found, expected, dtype=np.float64)), -1)
    position = np.unravel_index(int(np.nanargmax(sizes)), sizes.shape) if expected.shape else ()
    where = f"[{', '.join(map(str, position))}]" if position else ""
    return f"Result{where} is {found[position]} in ONNX Runtime and {expected[position]} in PyTorch."


# ------------------------------------------------------------------------------------------- finding the first node


def _find_departure(
    module: torch.nn.Module, given: Sequence[Tensor], proto: onnx.ModelProto, arrays: Arrays, rtol: float, atol: float
) -> tuple[str | None, str | None]:
    """Compare the values that both sides name alike, in the order of the model."""
    expected = _run_steps(module, given)
    outputs = {output.name for output in proto.graph.output}
    inner = copy.deepcopy(proto)
    known = [
        (name, node)
        for node in inner.graph.node
        for name in node.output
        if name in expected and expected[name][0] in _metadata(node)
    ]
    for name, _ in known:
        if name not in outputs:
            info = onnx.helper.make_empty_tensor_value_info(name)
            if expected[name][1].dtype == ml_dtypes.bfloat16:
                info.type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
            inner.graph.output.append(info)
    values = _run(_make_session(inner), arrays)
    for name, node in known:
        if not _agree(expected[name][1], values[name], rtol, atol):
            target = expected[name][0].removeprefix("torch.ops.")
            return f"{node.op_type} {name!r} (of {target})", _describe(expected[name][1], values[name])
    return None, None


def _metadata(node: onnx.NodeProto) -> str:
    return " ".join(each.value for each in node.metadata_props)


class _Recorder(torch.fx.Interpreter):
    """Runs a program and records the results of its operators."""

    def __init__(self, program: torch.fx.GraphModule) -> None:
        super().__init__(program)
        self.results: dict[str, tuple[str, np.ndarray]] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if node.op == "call_function" and isinstance(result, Tensor):
            self.results[node.name] = (str(node.target), _to_array(result.detach().clone()))
        return result


def _run_steps(module: torch.nn.Module, given: Sequence[Tensor]) -> dict[str, tuple[str, np.ndarray]]:
    """Return the operator and the result of each step of the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch about itself
        program = torch.export.export(module, tuple(given), strict=False).run_decompositions({})
    recorder = _Recorder(program.module())
    with torch.no_grad():
        recorder.run(*copy.deepcopy(tuple(given)))
    return recorder.results


def _report_failure(runs: int, skipped: int, label: str, error: Exception) -> ExportReport:
    """Report an error of ONNX Runtime."""
    lines = str(error).strip().splitlines()
    return ExportReport(runs, skipped, _find_failing_node(str(error)), label, f"ONNX Runtime: {lines[-1]}")


def _find_failing_node(text: str) -> str:
    """Return the node that an error of ONNX Runtime names."""
    for part in ("running ", "Node:", "node:"):
        _, found, after = text.partition(part)
        if found:
            return after.split(".")[0].split("\n")[0].strip()[:120]
    return "the model"
