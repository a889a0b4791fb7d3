"""Run a model in the openvino package, for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def run_in_openvino(path: Path, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the outputs in order. With one thread, the synchronous call would swallow exceptions."""
    openvino: Any = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    by_name = {port.get_node().get_friendly_name(): i for i, port in enumerate(compiled.inputs)}
    request.start_async({by_name[name]: np.array(array, order="C") for name, array in inputs.items()})
    request.wait()
    return [np.array(tensor.data) for tensor in request.output_tensors]


def as_ports(inputs: Sequence[Any]) -> list[Any]:
    """Return inputs of a layer. Only inputs at the end can be omitted, and -1 stands for no default_index."""
    given = list(inputs)
    while given and given[-1] is None:
        given.pop()
    minus_one = np.array(-1).astype(given[1].dtype if len(given) > 1 else np.int64)
    return [minus_one if array is None else array for array in given]


def assert_same(ours: Mapping[str, np.ndarray], theirs: list[np.ndarray]) -> None:
    """Check shapes, types and values. Integers must be equal. Floats may differ in the last bits of exp and so on."""
    assert len(ours) == len(theirs)
    for our, their in zip(ours.values(), theirs, strict=True):
        assert (our.dtype, our.shape) == (their.dtype, their.shape)
        if our.dtype.kind == "f":
            np.testing.assert_allclose(our, their, rtol=1e-6 if our.dtype.itemsize > 2 else 2e-3, atol=1e-7)
        else:
            np.testing.assert_array_equal(our, their)
