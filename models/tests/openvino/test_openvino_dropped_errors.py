"""Errors of the package's operations in OpenVINO reach the caller, even on one thread, where OpenVINO drops them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gatherscatter_models as gm

openvino: Any = pytest.importorskip("openvino")
opset: Any = pytest.importorskip("openvino.opset15")

ONE_THREAD = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
TWO_THREADS = {"INFERENCE_NUM_THREADS": 2, "INFERENCE_PRECISION_HINT": "f32"}
GOOD, BAD = np.array([[0], [1]]), np.array([[0], [7]])
TEXT = r"onnx\.GatherND-13: indices\[1, 0\] = 7 is out of range for axis 0 of data with size 3 \(valid: -3\.\.2\)"


def compiled(dtype: Any, config: dict[str, Any], shape: Any = (3, 2)) -> Any:
    """Compile a GatherND of data with three rows."""
    data, indices = opset.parameter(shape, dtype), opset.parameter([2, 1], np.int64)
    rows = gm.openvino.op_class("onnx.GatherND-13")([data, indices])
    return openvino.Core().compile_model(openvino.Model([rows.output(0)], [data, indices]), "CPU", config)


@pytest.fixture(name="rows")
def rows_() -> np.ndarray:
    return np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("config", [ONE_THREAD, TWO_THREADS])
@pytest.mark.parametrize("shape", [(3, 2), (-1, -1)])
def test_every_synchronous_call_raises(config: dict[str, Any], shape: Any, rows: np.ndarray) -> None:
    model = compiled(np.float32, config, shape)
    for call in (model, model.infer_new_request, model.create_infer_request().infer):
        for _ in range(2):
            with pytest.raises(RuntimeError, match=TEXT):
                call([rows, BAD])
            assert call([rows, GOOD])[0].tolist() == [[0, 1], [2, 3]]


def test_an_asynchronous_call_raises(rows: np.ndarray) -> None:
    request = compiled(np.float32, ONE_THREAD).create_infer_request()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        request.start_async([rows, BAD])
        with pytest.raises(RuntimeError, match=TEXT):
            request.wait()


def test_errors_of_other_threads_are_theirs(rows: np.ndarray) -> None:
    found: dict[int, Any] = {}

    def run(number: int) -> None:
        model = compiled(np.float32, ONE_THREAD)
        found[number] = []
        for turn in range(50):
            try:
                found[number].append(model([rows, BAD if (turn + number) % 2 else GOOD])[0].tolist())
            except RuntimeError as error:
                found[number].append(str(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number, results in found.items():
        assert len(results) == 50
        assert all(isinstance(result, str) == bool((turn + number) % 2) for turn, result in enumerate(results))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float32, np.nan), (np.int32, 0), (np.uint8, 0)],  # no conversion after the operation
)
def test_where_nothing_raises_the_output_is_filled(dtype: Any, expected: float) -> None:
    request = compiled(dtype, ONE_THREAD).create_infer_request()
    request.set_tensors({0: openvino.Tensor(np.ones((3, 2), dtype)), 1: openvino.Tensor(BAD)})
    with pytest.warns(RuntimeWarning, match=TEXT + "; the output is filled with NaN or zeros"):
        openvino._pyopenvino.InferRequest.infer(request, {}, False, True)
    result = request.output_tensors[0].data
    assert result.shape == (2, 2)
    assert np.array_equal(result.astype(np.float64), np.full((2, 2), expected), equal_nan=True)


@pytest.mark.parametrize("config", [ONE_THREAD, TWO_THREADS])
def test_errors_of_shapes_are_raised(config: dict[str, Any], rows: np.ndarray) -> None:
    """If shapes are dynamic, OpenVINO infers them in every call."""
    data, ids, axis = (
        opset.parameter([-1, -1], np.float32),
        opset.parameter([-1], np.int64),
        opset.parameter([], np.int64),
    )
    made = gm.openvino.op_class("openvino.Gather-8")([data, ids, axis])
    model = openvino.Core().compile_model(openvino.Model([made.output(0)], [data, ids, axis]), "CPU", config)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="axis 5 is out of range"):
            model([rows, np.array([1]), np.array(5)])
        assert model([rows, np.array([1]), np.array(0)])[0].tolist() == [[2, 3]]


def test_constants_with_a_bad_index_do_not_compile() -> None:
    """OpenVINO computes operations on constants when it compiles a model."""
    constants = [opset.constant(each) for each in (np.zeros((3, 2), np.float32), BAD)]
    made = gm.openvino.op_class("onnx.GatherND-13")(constants)
    x = opset.parameter([2, 2], np.float32)
    model = openvino.Model([opset.add(made.output(0), x)], [x])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(RuntimeError, match="7 is out of range"):
            openvino.Core().compile_model(model, "CPU", TWO_THREADS)


class Interrupted:
    """An op version whose calls are interrupted."""

    def __init__(self, row: Any) -> None:
        self.inputs, self.kernel, self.finish = row.inputs, row.kernel, row.finish

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt


def test_ctrl_c(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(np.float32, ONE_THREAD)
    kind = gm.openvino.op_class("onnx.GatherND-13")
    monkeypatch.setattr(kind, "row", Interrupted(kind.row))
    with pytest.raises(KeyboardInterrupt):
        model([rows, GOOD])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process can't choose its processors there")
def test_one_cpu(tmp_path: Path) -> None:
    """Run all of this in a process with one CPU."""
    script = tmp_path / "script.py"
    script.write_text("""
import os, warnings
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import numpy as np, onnx, openvino, gatherscatter_models as gm
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 18]> g (float[n] x, int64[k, 1] i, float[k] u) => (float[n] out)'
    '{ out = ScatterND <reduction = "add"> (x, i, u) }')
onnx.save(model, "sums.onnx")
core = openvino.Core()
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    core.add_extension(gm.openvino.extensions())
print([str(each.message) for each in warned if "has one CPU" in str(each.message)])
call = core.compile_model("sums.onnx", "CPU")
try:
    print(call([np.zeros(3, np.float32), np.array([[2], [7]]), np.ones(2, np.float32)])[0])
except RuntimeError as error:
    print("raised", error)
""")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    warned, raised = done.stdout.splitlines()
    assert "this process has one CPU, where OpenVINO's synchronous call drops errors of extensions" in warned
    assert raised.startswith("raised onnx.ScatterND-18: indices[1, 0] = 7 is out of range")
