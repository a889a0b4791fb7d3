"""Compare an exported model with its module, and find the first node that departs."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from gatherscatter.errors import OpTypeError, OpValueError
from gatherscatter.extras import require

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
    must. Drawn inputs that the module refuses are skipped. The module runs in evaluation mode.

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
        An input is not a tensor, or a tensor of bfloat16, which NumPy does not have.
    ValueError
        The model has other inputs or results than the module.
    ImportError
        ONNX Runtime is not installed.

    >>> import torch, warnings
    >>> from gatherscatter.torch import check_export, onnx_translations
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
        if given.dtype == torch.bfloat16:
            text = f"check_export: inputs[{number}] is bfloat16, which ONNX Runtime can't take from NumPy"
            raise OpTypeError(text, op="check_export", input="inputs")
    training = module.training
    try:
        return _compare(module.eval(), inputs, _load(model), draws, seed, rtol, atol)
    finally:
        module.train(training)


def _compare(
    module: torch.nn.Module,
    inputs: Sequence[Tensor],
    proto: onnx.ModelProto,
    draws: int,
    seed: int,
    rtol: float,
    atol: float,
) -> ExportReport:
    session = _make_session(proto)
    runs = skipped = 0
    for label, given in _draw_inputs(inputs, draws, np.random.default_rng(seed)):
        try:
            with torch.no_grad():
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
            found = session.run(None, arrays)
        except Exception as error:  # ONNX Runtime has several classes of errors
            lines = str(error).strip().splitlines()
            return ExportReport(runs, skipped, _find_failing_node(str(error)), label, f"ONNX Runtime: {lines[-1]}")
        _check_count("results", len(expected), len(found))
        for name, one, other in zip(_output_names(session), expected, found, strict=True):
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
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # an error is raised, too
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _output_names(session: Any) -> list[str]:
    return [output.name for output in session.get_outputs()]


def _name_inputs(session: Any, given: Sequence[Tensor]) -> Arrays:
    """Map the inputs of the model to arrays."""
    names = [info.name for info in session.get_inputs()]
    _check_count("inputs", len(given), len(names))
    return {name: tensor.detach().numpy() for name, tensor in zip(names, given, strict=True)}


def _check_count(what: str, module: int, model: int) -> None:
    if module != model:
        text = f"check_export: the module has {module} {what}, but the model has {model}"
        raise OpValueError(text, op="check_export", input="model")


# -------------------------------------------------------------------------------------------------- drawing inputs


def _draw_inputs(
    inputs: Sequence[Tensor], draws: int, generator: np.random.Generator
) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    yield "given", tuple(inputs)
    seen = [tuple(inputs)]
    for number in range(draws):
        drawn = tuple(_draw(tensor, generator, number) for tensor in inputs)
        if not any(all(map(torch.equal, drawn, others)) for others in seen):
            yield f"drawn ({number + 1})", drawn
            seen.append(drawn)


def _draw(tensor: Tensor, generator: np.random.Generator, number: int) -> Tensor:
    """Draw integers from those of the tensor, so that they stay in range. In odd draws, some become negative."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.numel() == 0:
        return tensor
    values = tensor.numpy()
    if tensor.dtype == torch.bool:
        return torch.from_numpy(generator.permutation(values.ravel()).reshape(values.shape))
    drawn = generator.choice(values.ravel(), values.shape)
    if number % 4 < 2 and values.ndim == 1 and values[0] == 0 and (np.diff(values) >= 0).all():
        drawn[0], drawn[-1] = values[0], values[-1]  # as the pointers of bags must
        return torch.from_numpy(np.sort(drawn))
    if number % 2 == 1 and values.min() >= 0:
        below = generator.integers(-1 - values.max(), 0, values.shape)
        drawn = np.where(generator.random(values.shape) < 0.5, drawn, below)
    return torch.from_numpy(drawn.astype(values.dtype, copy=False))


# ------------------------------------------------------------------------------------------------ comparing values


def _flatten(result: Any) -> list[np.ndarray]:
    leaves, _ = torch.utils._pytree.tree_flatten(result)
    return [leaf.detach().numpy() for leaf in leaves if isinstance(leaf, Tensor)]


def _agree(expected: np.ndarray, found: np.ndarray, rtol: float, atol: float) -> bool:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if expected.dtype.kind not in "fc":
        return bool(np.array_equal(expected, found))
    rtol = max(rtol, 4 * float(np.finfo(expected.dtype).eps))
    return bool(np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True))


def _describe(expected: np.ndarray, found: np.ndarray) -> str:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        kinds = [f"{each.dtype} of shape {each.shape}" for each in (expected, found)]
        return f"PyTorch has {kinds[0]}, ONNX Runtime {kinds[1]}."
    differs = ~np.isclose(found, expected, rtol=0, atol=0, equal_nan=expected.dtype.kind in "fc")
    with np.errstate(all="ignore"):
        sizes = np.where(differs, np.abs(np.subtract(found, expected, dtype=np.float64)), -1)
    place = np.unravel_index(int(np.nanargmax(sizes)), sizes.shape) if expected.shape else ()
    where = f"[{', '.join(map(str, place))}]" if place else ""
    return f"Result{where} is {found[place]} in ONNX Runtime and {expected[place]} in PyTorch."


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
    inner.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name) for name, _ in known if name not in outputs
    )
    session = _make_session(inner)
    values = dict(zip(_output_names(session), session.run(None, arrays), strict=True))
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
            self.results[node.name] = (str(node.target), result.detach().clone().numpy())
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


def _find_failing_node(text: str) -> str:
    """Return the node that an error of ONNX Runtime names."""
    for part in ("running ", "Node:", "node:"):
        _, found, after = text.partition(part)
        if found:
            return after.split(".")[0].split("\n")[0].strip()[:120]
    return "the model"
