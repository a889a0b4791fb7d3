"""Wrong inputs, bad indices and invalid models raise an error that names the fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph

import gatherscatter as gs
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    SCATTER,
    Arrays,
    assert_same_bits,
    load_onnxruntime,
    make_quiet_options,
    make_scatter_model,
)

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "feed",
    [
        {"x": SCATTER["x"]},
        {**SCATTER, "y": SCATTER["x"]},
        {**SCATTER, "x": np.zeros((4, 2))},
        {**SCATTER, "x": np.zeros((4, 3), F32)},
    ],
    ids=["missing", "unknown", "type", "shape"],
)
def test_wrong_inputs_get_the_errors_of_onnxruntime(feed: Arrays) -> None:
    caught = []
    for session in (InferenceSession(BETWEEN), load_onnxruntime(BETWEEN)):
        with pytest.raises((ValueError, InvalidArgument)) as error:
            session.run(None, feed)
        caught.append((error.type, str(error.value)))
    assert caught[0] == caught[1]


def test_a_bad_index_names_the_node() -> None:
    made = make_scatter_model(node("Abs", "x", "a"), node("ScatterND", "a at new", "out", "collect", reduction="add"))
    inputs = {**SCATTER, "at": np.array([[1], [9], [1]])}
    with pytest.raises(gs.OpIndexError, match=r"onnx.ScatterND-18: indices\[1, 0\] = 9 is out of range") as caught:
        InferenceSession(made).run(None, inputs)
    assert caught.value.__notes__ == ["in node ScatterND 'collect'"]
    assert caught.value.op == "onnx.ScatterND-18"
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
    with pytest.raises(gs.OpIndexError, match=r"indices\[1, 0\] = 9"):
        InferenceSession(made).run_with_ort_values(None, values)


def test_a_bad_shape_and_a_bad_index_of_a_node_without_a_name() -> None:
    made = make_scatter_model(node("ScatterND", "x at new", "out", reduction="add"))
    session = InferenceSession(made, make_quiet_options())
    with pytest.raises(gs.OpValueError, match=r"ScatterND-18: updates has shape \(2, 2\), but must have") as caught:
        session.run(None, {**SCATTER, "new": np.zeros((2, 2), F32)})
    assert caught.value.__notes__ == ["in node ScatterND 'out'"]
    with pytest.raises(gs.OpIndexError, match=r"indices\[0, 0\] = -5 is out of range"):
        session.run(None, {**SCATTER, "at": np.array([[-5], [0], [0]])})
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))


def test_an_error_of_an_io_binding_has_our_sentence() -> None:
    session = InferenceSession(BETWEEN, make_quiet_options())
    binding = session.io_binding()
    for name, array in {**SCATTER, "at": np.array([[1], [9], [1]])}.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("out")
    with pytest.raises(RuntimeError, match=r"IndexError: onnx.ScatterND-18: indices\[1, 0\] = 9 is out of range"):
        session.run_with_iobinding(binding)


def test_a_thousand_bad_indices_leak_nothing() -> None:
    code = (
        "import numpy as np, gatherscatter as gs, gatherscatter_models as gm\n"
        "from tests.support.session_graphs import BETWEEN, SCATTER, make_quiet_options\n"
        "rss = lambda: int(open('/proc/self/statm').read().split()[1]) // 256\n"
        "options = make_quiet_options()\n"
        "options.log_severity_level = 4\n"
        "session = gm.onnx.InferenceSession(BETWEEN, options)\n"
        "feed = {'x': np.zeros((1 << 18, 2), np.float32), 'at': np.full((1, 1), 1 << 18), 'new': SCATTER['new'][:1]}\n"
        "def fail(times):\n"
        "    for _ in range(times):\n"
        "        try:\n"
        "            session.run(None, feed)\n"
        "        except gs.OpIndexError:\n"
        "            continue\n"
        "        raise AssertionError\n"
        "    return rss()\n"
        "print(-fail(50) + fail(1000))\n"
    )
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 20  # MiB; each run has 2 MiB of data


def test_a_damaged_model_gets_the_error_of_onnxruntime() -> None:
    for broken in (b"no model", b"", make_scatter_model(ADD, node("Neg", "missing", "out")).SerializeToString()):
        with pytest.raises(Exception, match=r"ONNXRuntimeError|Unable to load") as caught:
            InferenceSession(broken)
        assert type(caught.value).__module__.startswith("onnxruntime")


def test_names_that_are_not_utf8_are_readable_in_errors(tmp_path: Path) -> None:
    good = make_scatter_model(ADD, node("Neg", "missing", "out")).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(good.replace(b"missing", b"miss\xff\xfeg"))
    for model in (path, path.read_bytes()):
        with pytest.raises(Exception, match=r"ONNXRuntimeError.*miss\\xff\\xfeg") as caught:
            InferenceSession(model)
        assert type(caught.value).__module__.startswith("onnxruntime")


def test_errors_of_a_run_are_readable_too() -> None:
    model = make_scatter_model(ADD, node("Add", "sum wide", "out", name="Zabcd"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((7, 2), np.float32), "wide"))
    session = InferenceSession(model.SerializeToString().replace(b"Zabcd", b"Z\xff\xfeZ_"))
    with pytest.raises(Fail, match=r"Z\\xff\\xfeZ_"):
        session.run(None, SCATTER)


def test_external_data_is_read_without_a_warning(tmp_path: Path) -> None:
    model = make_scatter_model(ADD, node("Add", "sum zero", "out"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1, np.float32), "zero"))
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="model.data", size_threshold=0)
    code = f"import gatherscatter_models as gm; print(gm.onnx.InferenceSession({str(tmp_path / 'model.onnx')!r}).plan)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ScatterND" in done.stdout
    assert done.stderr == ""


def test_an_attribute_that_the_version_has_not_gets_the_error_of_onnxruntime() -> None:
    with pytest.raises(InvalidGraph, match="Unrecognized attribute"):
        InferenceSession(make_scatter_model(node("ScatterND", "x at new", "out", reduction="add", axis=1)))


@pytest.mark.parametrize(("reduction", "opset"), [("median", 18), ("mean", 18), ("max", 16)])
def test_a_reduction_that_the_version_has_not_is_an_error(reduction: str, opset: int) -> None:
    """ONNX Runtime loads and runs such a model."""
    session = InferenceSession(
        make_scatter_model(node("ScatterND", "x at new", "out", reduction=reduction), opset=opset)
    )
    with pytest.raises(gs.OpValueError, match="reduction must be one of 'none', 'add', 'mul'"):
        session.run(None, SCATTER)
