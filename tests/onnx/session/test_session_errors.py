"""Wrong inputs, bad indices and broken models end in the error that says what is wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, InvalidGraph

import gatherscatter as gs
from gatherscatter.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    SCATTER,
    Arrays,
    make_scatter_model,
)


@pytest.mark.parametrize(
    ("feed", "error", "message"),
    [
        ({"x": SCATTER["x"]}, ValueError, "no array was given for input 'at', 'new'"),
        ({**SCATTER, "y": SCATTER["x"]}, InvalidArgument, "no input 'y'"),
        ({**SCATTER, "x": np.zeros((4, 2))}, InvalidArgument, "input 'x' must be float32; got float64"),
        ({**SCATTER, "x": np.zeros((4, 3), F32)}, InvalidArgument, r"input 'x' must have shape \[n, 2\]; got \[4, 3\]"),
    ],
)
def test_wrong_inputs(feed: Arrays, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        InferenceSession(BETWEEN).run(None, feed)


def test_an_output_that_is_not_there() -> None:
    with pytest.raises(InvalidArgument, match="the model has no output 'nowhere'; its outputs are 'out'"):
        InferenceSession(BETWEEN).run(["nowhere"], SCATTER)


def test_a_bad_index_names_the_node() -> None:
    made = make_scatter_model(node("Abs", "x", "a"), node("ScatterND", "a at new", "out", "collect", reduction="add"))
    inputs = {**SCATTER, "at": np.array([[1], [9], [1]])}
    with pytest.raises(gs.OpIndexError, match=r"onnx.ScatterND-18: indices\[1, 0\] = 9 is out of range") as caught:
        InferenceSession(made).run(None, inputs)
    assert caught.value.__notes__ == ["in node ScatterND 'collect' (2/2)"]


def test_a_damaged_model_gets_the_error_of_onnxruntime() -> None:
    for broken in (b"no model", b"", make_scatter_model(ADD, node("Neg", "missing", "out")).SerializeToString()):
        with pytest.raises(Exception, match=r"ONNXRuntimeError|Unable to load") as caught:
            InferenceSession(broken)
        assert type(caught.value).__module__.startswith("onnxruntime")


def test_an_attribute_that_the_version_has_not_gets_the_error_of_onnxruntime() -> None:
    with pytest.raises(InvalidGraph, match="Unrecognized attribute"):
        InferenceSession(make_scatter_model(node("ScatterND", "x at new", "out", reduction="add", axis=1)))


@pytest.mark.parametrize(("reduction", "opset"), [("median", 18), ("mean", 18), ("max", 16)])
def test_a_reduction_that_the_version_has_not_is_an_error(reduction: str, opset: int) -> None:
    """ONNX Runtime loads such a model, and runs it."""
    session = InferenceSession(
        make_scatter_model(node("ScatterND", "x at new", "out", reduction=reduction), opset=opset)
    )
    with pytest.raises(gs.OpValueError, match="reduction must be one of 'none', 'add', 'mul'"):
        session.run(None, SCATTER)


def test_a_missing_onnxruntime_is_named_with_its_extra() -> None:
    code = (
        "import sys, gatherscatter as gs\nsys.modules['onnxruntime'] = None\n"
        "try:\n    gs.onnx.InferenceSession\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gatherscatter[onnxruntime]'" in done.stdout
