"""Write model files for ONNX Runtime with the native library."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import onnx

from gatherscatter.system.files import replace_atomically
from gatherscatter_models.interface import ModelError, is_ir
from gatherscatter_models.onnx.model_files import model_outputs, refuse_own_input
from gatherscatter_models.onnx.native_nodes import ModelPlan, move_nodes
from gatherscatter_models.onnx.reading import name_model_in_errors, parse_onnx, read_onnx
from gatherscatter_models.onnx.running import require_engine
from gatherscatter_models.onnx.tensors import ExternalData, external_tensors


def convert_for_onnxruntime(
    model: str | os.PathLike[str], to: str | os.PathLike[str], *, fuse: bool = True
) -> ModelPlan:
    """Write a model for ONNX Runtime with gatherscatter's native library.

    The nodes that ONNX Runtime gets wrong, refuses or runs slower become operators of the domain ``gatherscatter``. The
    library runs them correctly.

    Parameters
    ----------
    model : path of an ``.onnx`` file
    to : path
        Where to write. External data is written to ``<to>.data``.
    fuse : bool
        Whether a Gather and the reduction after it become one node, if nothing else reads the gathered rows.

    Returns
    -------
    ModelPlan
        ``moved`` lists the nodes that the library runs, with the reasons.

    Raises
    ------
    ModelError
        The model can't be read, or ``to`` would overwrite it. Nothing is written then.

    >>> import onnx
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[n] data, int64[m, 1] indices, float[m] x) => (float[n] out)
    ...     { sums = ScatterND <reduction = "add"> (data, indices, x)  out = Neg (sums) }''')
    >>> onnx.save(model, "sums.onnx")
    >>> [node.name for node in convert_for_onnxruntime("sums.onnx", "fixed.onnx").moved]
    ['sums']
    >>> [(node.domain, node.op_type) for node in onnx.load("fixed.onnx").graph.node]
    [('gatherscatter', 'ScatterND'), ('', 'Neg')]
    """
    source, target = Path(model), Path(to)
    if target.suffix.lower() != ".onnx":
        raise ModelError(f"{target.name}: the name of the converted model must end in .onnx")
    if is_ir(source):
        text = f"{source.name} is an OpenVINO IR; convert it to ONNX first: gatherscatter convert {source.name}"
        raise ModelError(f"{text} {source.stem}.onnx")
    refuse_own_input(target, source)
    with name_model_in_errors(source):
        checked = read_onnx(source)
        require_engine(checked)
        if checked.refusal.text:
            raise ModelError(checked.refusal.text)
        proto = parse_onnx(source)
        plan = move_nodes(proto, source, fuse=fuse)
        if not plan.moved:
            proto = parse_onnx(source)  # the unchanged model
        _save(proto, ExternalData(source), target)
    return plan


def _save(model: onnx.ModelProto, files: ExternalData, path: Path) -> None:
    """Write a model, and its external data to a file next to it."""
    _, data_file = model_outputs(path)
    tensors = list(external_tensors(model))
    with ExitStack() as stack:
        if tensors:
            data = stack.enter_context(stack.enter_context(replace_atomically(data_file)).open("wb"))
            for tensor in tensors:
                files.copy(tensor, f"tensor {tensor.name!r}", data, data_file.name)
        stack.enter_context(replace_atomically(path)).write_bytes(model.SerializeToString())
