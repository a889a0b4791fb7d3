"""Check ONNX models in another process, because some files end the process that reads them.

The checker of the onnx package, ONNX Runtime's loader, strict shape inference and the op versions decide.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import onnx
import onnxruntime  # type: ignore[import-untyped]

from gatherscatter.specs.rows import DOMAIN, DOMAIN_VERSION
from gatherscatter.system.processes import NoAnswerError, answer_lines, limit_memory, shared_process
from gatherscatter_models.findings.static_checks import check_sites
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.bodies import find_bodies, find_sites
from gatherscatter_models.onnx.graph import callees_first, find_all_called, node_label, normalise, one_line, walk
from gatherscatter_models.onnx.session import InferenceSession
from gatherscatter_models.onnx.tensors import ExternalData, external_tensors, is_external

TIME_LIMIT = 60.0  # seconds
BYTES_PER_SECOND = 10_000_000  # of large models, which get more time
MEMORY = 2 << 30  # bytes beyond those of a model of no size
_RETIRED = {"Scatter": "ScatterElements"}  # op versions that run although ONNX deprecates them, and their successors
_OTHER_OPSET = re.compile("Opset import for domain .*in function op .*is not compatible")
_NO_KERNEL = re.compile(r"Could not find an implementation for (\w+)\(\d+\) node with name '(.*?)'")
_PREFIXES = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : |This is an invalid model\. |Load model from .*? failed:"
    r"|/\S+\.\w+:\d+ [^(]*\(.*?\)(?: const)? "  # a position in the sources
)


class Refusal(NamedTuple):
    """What ONNX Runtime, with gatherscatter's library, can't do with a model. Both texts are empty if it can.

    Attributes
    ----------
    text : why it can't run the model
    python_text : why Python can't give it the inputs, or take the outputs
    """

    text: str
    python_text: str


def check_model(source: str | os.PathLike[str] | onnx.ModelProto) -> Refusal:
    """Return what ONNX Runtime can't do with a model.

    Raises
    ------
    ModelError
        The model is not valid, or the process that checks it ended.
    """
    with ExitStack() as stack:
        if isinstance(source, onnx.ModelProto):
            file = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".onnx"))
            file.write(source.SerializeToString())
            file.flush()
            source = file.name
        path = Path(source).absolute()
        limit = TIME_LIMIT + path.stat().st_size / BYTES_PER_SECOND
        try:
            return Refusal(*json.loads(shared_process(__name__).ask(os.fsencode(path), time_limit=limit)))
        except NoAnswerError as error:
            raise ModelError(str(error)) from None


def _check_file(question: bytes) -> bytes:
    """Check a file. Return the answer of `check_model` as JSON, or raise the error of the model.

    The checker of the onnx package refuses functions of another opset than the model. ONNX Runtime decides about them.
    """
    path = Path(os.fsdecode(question))
    model = onnx.load_model(path, load_external_data=False)
    files = ExternalData(path)
    data_files = {files.file(tensor, "a tensor") for tensor in external_tensors(model)}
    limit_memory(MEMORY + 20 * sum(file.stat().st_size for file in (path, *data_files)))
    _check_opset(model)
    normalise(model)
    callees_first(model.functions, model.graph.node)  # the checker would expand calls without a limit
    fault = None
    try:
        onnx.checker.check_model(_declare_types(_make_checkable(model, files)))
    except onnx.checker.ValidationError as error:
        fault = error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = _find_refusal(path, model)
        if fault is not None and (refusal.text or not _OTHER_OPSET.search(str(fault))):
            raise fault
        if refusal.text:
            onnx.shape_inference.infer_shapes(_make_checkable(model, files), check_type=True, strict_mode=True)
        for body in find_bodies(model, files):
            for scope in body.scopes:
                check_sites(find_sites(body, [], scope))
    return json.dumps(refusal).encode()


def _check_opset(model: onnx.ModelProto) -> None:
    for entry in model.opset_import:
        if entry.domain == DOMAIN and not 1 <= entry.version <= DOMAIN_VERSION:
            raise ModelError(f"domain {DOMAIN!r} has the opsets 1 to {DOMAIN_VERSION}, not {entry.version}")


def _make_checkable(model: onnx.ModelProto, files: ExternalData) -> onnx.ModelProto:
    """Return a copy for the checker, which refuses some models that ONNX Runtime runs.

    They have retired operators, links to external data, a main graph without a name, an old IR version, or functions
    that are not called.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.name = copy.graph.name or "graph"
    if copy.opset_import:
        copy.ir_version = max(copy.ir_version, 4)
    called = find_all_called(copy)
    functions = [function for function in copy.functions if (function.domain, function.name) in called]
    del copy.functions[:]
    copy.functions.extend(functions)
    kept = [tensor for tensor in copy.graph.initializer if not is_external(tensor)]
    declared = {value.name for value in copy.graph.input}
    for tensor in copy.graph.initializer:
        if is_external(tensor) and tensor.name not in declared:
            copy.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    for tensor in external_tensors(copy):
        files.embed(tensor, f"tensor {tensor.name!r}")
    for body, nodes in ((copy, copy.graph.node), *((function, function.node) for function in copy.functions)):
        if any(not entry.domain and entry.version >= 11 for entry in body.opset_import):
            for node in walk(nodes):
                if not node.domain:
                    node.op_type = _RETIRED.get(node.op_type, node.op_type)
    return copy


def _declare_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """Give inputs and outputs of unknown type or rank some, in place. The checker refuses them, but runtimes do not."""
    for value in model.graph.output:
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for value in (*model.graph.input, *model.graph.output):
        if value.type.WhichOneof("value") == "tensor_type" and not value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.SetInParent()
    return model


def _find_refusal(path: Path, model: onnx.ModelProto) -> Refusal:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = InferenceSession(path, options, move_all=True)
    except Exception as error:  # onnxruntime raises many types
        return Refusal(_name_reason(str(error), model), "")
    for info in (*session.get_inputs(), *session.get_outputs()):
        if re.search(r"\((?:bfloat16|float8|float4|u?int[24]|complex)\w*\)", info.type):
            return Refusal("", f"ONNX Runtime can't pass {info.name!r} of type {info.type} to Python")
    return Refusal("", "")


def _name_reason(text: str, model: onnx.ModelProto) -> str:
    """Return a message of ONNX Runtime on one line. It names a node by its label."""
    if (found := _NO_KERNEL.search(text)) is not None:
        for position, node in enumerate(model.graph.node, 1):
            if (node.op_type, node.name) == found.groups():
                return f"ONNX Runtime has no kernel for {node_label(node, position, len(model.graph.node))}"
    return f"ONNX Runtime refuses it: {shorten(text)}"


def shorten(text: str) -> str:
    """Return a message of ONNX Runtime on one line, without its code."""
    return one_line(_PREFIXES.sub("", text))


if __name__ == "__main__":
    answer_lines(_check_file)
