"""`convert`: convert models between ONNX and OpenVINO's IR, with the same results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from gatherscatter.system.files import replace_atomically
from gatherscatter_models.interface import ModelError, is_ir
from gatherscatter_models.onnx.model_files import refuse_own_input
from gatherscatter_models.openvino.conversion.from_onnx import from_onnx
from gatherscatter_models.openvino.conversion.to_onnx import to_onnx
from gatherscatter_models.openvino.ir_write import IRWriter

__all__ = ["Converted", "convert"]


@dataclass(frozen=True)
class Converted:
    """The result of `convert`. ``model`` is an ``onnx.ModelProto``, or the `IRWriter` of an IR."""

    model: onnx.ModelProto | IRWriter

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the .onnx file, or the .xml file and its .bin; return the path."""
        file = Path(path)
        suffix = ".xml" if isinstance(self.model, IRWriter) else ".onnx"
        if file.suffix != suffix:
            raise ModelError(f"{file.name}: the name of the converted model must end in {suffix}")
        if isinstance(self.model, IRWriter):
            return self.model.save(file)
        with replace_atomically(file) as part:
            part.write_bytes(self.model.SerializeToString())
        return file


def convert(
    model: str | os.PathLike[str] | onnx.ModelProto | Any,
    to: str | os.PathLike[str] | None = None,
    *,
    indices: str = "any",
) -> Converted:
    """Convert a small model around gathers and scatters between ONNX and OpenVINO's IR, exactly or not at all.

    The operators of ONNX and OpenVINO differ in negative indices, indices out of range, rounding and types. The
    conversion inserts nodes that make up for these differences. It raises an error if an exact conversion is not
    possible. docs/openvino.md has a table.

    Parameters
    ----------
    model : path, onnx.ModelProto or openvino.Model
        An ``.onnx`` file or a ModelProto becomes an IR. An ``.xml`` file (with its ``.bin``) or a Model becomes ONNX.
    to : path, optional
        Where to save the result: an ``.xml`` file (with a ``.bin`` next to it) or an ``.onnx`` file.
    indices : {'any', 'valid', 'nonnegative'}
        The values that indices may have, if they are not constants. 'any': all values. Bad indices stay errors, and
        negative ones keep their meaning. 'valid': no index is outside the range of its operator. 'nonnegative': valid,
        and no index is negative. The stricter this is, the fewer nodes are inserted.

    Returns
    -------
    Converted
        ``save(path)`` writes the model. ``model`` is the ``onnx.ModelProto`` or the `IRWriter`.

    Raises
    ------
    ModelError
        The model can't be read, a node can't be converted exactly, or ``to`` would overwrite the model.
    ImportError
        The ``openvino`` package is missing. The message names the extra.

    >>> import numpy as np, onnx, gatherscatter_models as gm
    >>> model = onnx.parser.parse_model(
    ...     '<ir_version: 8, opset_import: ["": 18]>'
    ...     'sums (float[n] data, int64[k, 1] indices, float[k] updates) => (float[n] out)'
    ...     '{ out = ScatterND <reduction = "add"> (data, indices, updates) }')
    >>> path = gm.openvino.convert(model).save("sums.xml")
    >>> gm.run(path, [np.zeros(3, np.float32), np.array([[2], [-1]]), np.ones(2, np.float32)])
    {'out': array([0., 0., 2.], dtype=float32)}
    >>> [node.op_type for node in gm.openvino.convert(path).model.graph.node]
    ['ScatterND', 'Identity']
    """
    if to is not None:
        refuse_own_input(to, model)
    converted = Converted(_convert(model, indices))
    if to is not None:
        converted.save(to)
    return converted


def _convert(model: Any, indices: str) -> onnx.ModelProto | IRWriter:
    if isinstance(model, onnx.ModelProto):
        return from_onnx(model, indices)
    if is_ir(model):
        return to_onnx(Path(model) if isinstance(model, str | os.PathLike) else model, indices)
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"model must be a path, an onnx.ModelProto or an openvino.Model, not {type(model).__name__}")
    return from_onnx(Path(model), indices)
