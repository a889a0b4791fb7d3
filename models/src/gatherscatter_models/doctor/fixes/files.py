"""Read models to rewrite, and write rewritten models, as ONNX or as IR."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from gatherscatter.system.files import replace_atomically
from gatherscatter_models.doctor.fixes.proof import same_bits
from gatherscatter_models.doctor.fixes.trial_inputs import Arrays
from gatherscatter_models.doctor.onnx_nodes import OnnxSource
from gatherscatter_models.interface import ModelError, check_model, name_inputs
from gatherscatter_models.loading import load
from gatherscatter_models.onnx.graph import expand_functions, walk

if TYPE_CHECKING:
    from gatherscatter_models.loading import ModelSource

LARGEST = 1 << 30  # bytes of a file; the tensors of larger models go into a separate file


def as_onnx(model: ModelSource, out: Path) -> OnnxSource:
    """Return the model as ONNX, with all tensors in memory."""
    check_model(model, kinds="a path or a ModelProto")
    if isinstance(model, str | os.PathLike) and Path(model).suffix.lower() == ".xml":
        from gatherscatter_models.openvino import convert

        try:
            converted = convert(model).model
            assert isinstance(converted, onnx.ModelProto)
            return OnnxSource(converted)
        except ModelError as error:
            raise ModelError(f"{error}; fix the ONNX model that this IR was made from instead") from None
    if out.suffix.lower() == ".xml":
        raise ModelError(f"{out.name}: an ONNX model is written as .onnx; gatherscatter convert makes an IR of it")
    source = OnnxSource(model)
    source.embed()
    return OnnxSource(source.proto)


@contextmanager
def as_file(model: ModelSource) -> Iterator[Path]:
    """Yield the file of a model. A model in memory is written to a temporary file."""
    if isinstance(model, str | os.PathLike):
        yield Path(model)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        _write(model, path)
        yield path


def count_nodes(model: onnx.ModelProto) -> int:
    """Count the nodes in all bodies, without Constant nodes, which cost nothing in a run."""
    nodes = (node for body in (model.graph, *model.functions) for node in walk(body.node))
    return sum(node.op_type != "Constant" for node in nodes)


def expand_family_functions(source: OnnxSource) -> OnnxSource:
    """Expand the functions of a model if they contain gathers or scatters. Within functions, shapes are unknown."""
    held = any(site.key[0] == "function" for site in source.sites)
    return OnnxSource(expand_functions(source.proto)) if held else source


@contextmanager
def write_model(model: onnx.ModelProto, path: Path) -> Iterator[Path]:
    """Write the model under the same name in a folder next to ``path``. Move it to ``path`` if the block succeeds."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / path.name
        _write(model, draft)
        yield draft
        for file in Path(folder).iterdir():
            with replace_atomically(path.parent / file.name) as part:
                file.replace(part)


def _write(model: onnx.ModelProto, path: Path) -> None:
    if path.suffix.lower() == ".xml":
        from gatherscatter_models.openvino import convert

        try:
            convert(_replace_is_nan(model), path)
        except ModelError as error:
            raise ModelError(f"{error}; write it as .onnx instead") from None
        return
    onnx.save(model, path, save_as_external_data=model.ByteSize() > LARGEST, location=f"{path.name}.data")


def check_converted(ir: Path, written: Path, inputs: Arrays) -> None:
    """Run the IR and the rewritten model, which was made by way of ONNX; ModelError if their results differ."""
    models = (load(each) for each in (ir, written))
    mine, theirs = (model.run(name_inputs(model.inputs, list(inputs.values()))) for model in models)
    # By position, because each format has its own names.
    if not all(same_bits(*pair) for pair in zip(mine.values(), theirs.values(), strict=True)):
        raise ModelError("the rewritten model gives other results than the IR, so it was not written")


def _replace_is_nan(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with a comparison instead of IsNaN, which `convert` does not support."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:]
    for node in model.graph.node:
        if node.op_type == "IsNaN":
            equal = f"{node.output[0]}_Equal"
            copy.graph.node.append(onnx.helper.make_node("Equal", [node.input[0]] * 2, [equal]))
            copy.graph.node.append(onnx.helper.make_node("Not", [equal], node.output))
        else:
            copy.graph.node.append(node)
    return copy
