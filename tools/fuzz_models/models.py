"""All good models by name."""

from __future__ import annotations

from collections.abc import Callable

from tools.fuzz_models import ir_models, onnx_models
from tools.fuzz_models.files import Files

MODELS: dict[str, Callable[[], Files]] = {
    "onnx-gathers": onnx_models.make_gathers,
    "onnx-scatters": onnx_models.make_scatters,
    "onnx-old": onnx_models.make_old,
    "onnx-cache": onnx_models.make_cache,
    "onnx-branches": onnx_models.make_branches,
    "onnx-loop": onnx_models.make_loop,
    "onnx-scan": onnx_models.make_scan,
    "onnx-functions": onnx_models.make_functions,
    "onnx-external": onnx_models.make_external,
    "onnx-types": onnx_models.make_types,
    "onnx-sequences": onnx_models.make_sequences,
    "onnx-layer": onnx_models.make_layer,
    "ir-gathers": ir_models.make_gathers,
    "ir-scatters": ir_models.make_scatters,
    "ir-tree": ir_models.make_tree,
    "ir-types": ir_models.make_types,
    "ir-shapes": ir_models.make_shapes,
}
