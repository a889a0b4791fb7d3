"""InferenceSession is an ordinary session: its methods return the same as those of ONNX Runtime."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from gatherscatter.system.native_library import library_path
from gatherscatter_models.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    SCATTER,
    SUMS,
    assert_same_bits,
    list_moved,
    load_onnxruntime,
    make_quiet_options,
    make_scatter_model,
)


def test_a_model_without_work_for_us_is_an_ordinary_session() -> None:
    made = make_scatter_model(node("Add", "x x", "out"))
    session = InferenceSession(made.SerializeToString())
    assert isinstance(session, onnxruntime.InferenceSession)
    binding = session.io_binding()
    binding.bind_cpu_input("x", SCATTER["x"])
    binding.bind_output("out")
    session.run_with_iobinding(binding)
    assert_same_bits(binding.copy_outputs_to_cpu(), session.run(["out"], {**SCATTER}))


def describe(session: Any) -> list[Any]:
    values = [session.get_inputs(), session.get_outputs(), session.get_overridable_initializers()]
    meta = session.get_modelmeta()
    facts = ("producer_name", "graph_name", "domain", "description", "graph_description", "version")
    return [
        *([(value.name, value.type, value.shape) for value in kind] for kind in values),
        [getattr(meta, name) for name in facts],
        meta.custom_metadata_map,
        session.get_providers(),
        session.get_provider_options(),
    ]


@pytest.mark.parametrize("ir_version", [3, 10])
def test_the_getters_say_what_those_of_onnxruntime_say(ir_version: int) -> None:
    made = make_scatter_model(
        ADD, node("Add", "sum bias", "out"), node("Cast", "out", "low", to=TensorProto.FLOAT16), opset=8 + ir_version
    )
    made.ir_version = ir_version
    made.graph.input.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [2]))
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, F32), "bias"))
    made.graph.output.append(onnx.ValueInfoProto(name="low"))
    made.graph.output.append(helper.make_tensor_value_info("sum", TensorProto.FLOAT, [None, 2]))
    made.graph.input.append(helper.make_tensor_sequence_value_info("unused", TensorProto.INT64, None))
    made.graph.input.append(helper.make_tensor_value_info("nothing", TensorProto.STRING, []))
    if ir_version == 3:
        made.opset_import[0].version = 16
    made.producer_name, made.domain, made.doc_string, made.graph.doc_string = "us", "here", "model", "its graph"
    made.metadata_props.add(key="answer", value="42")
    session = InferenceSession(made, make_quiet_options())
    assert list_moved(session) == ["ScatterND"]
    assert describe(session) == describe(load_onnxruntime(made))
    feed = {**SCATTER, "unused": [np.array([1])], "nothing": np.array("", object)}
    assert_same_bits(session.run(None, feed), load_onnxruntime(made).run(None, feed))


def test_ort_values_go_in_and_come_out() -> None:
    feed = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in SCATTER.items()}
    (result,) = InferenceSession(BETWEEN).run_with_ort_values(None, feed)
    assert_same_bits([result.numpy()], load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_run_options_reach_onnxruntime() -> None:
    options = onnxruntime.RunOptions()
    options.terminate = True
    with pytest.raises(Fail, match="terminate"):
        InferenceSession(BETWEEN, make_quiet_options()).run(None, SCATTER, options)


def test_io_binding() -> None:
    session = InferenceSession(BETWEEN)
    assert list_moved(session) == ["ScatterND"]
    binding = session.io_binding()
    for name, array in SCATTER.items():
        binding.bind_cpu_input(name, array)
    out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((4, 2), F32))
    binding.bind_ortvalue_output("out", out)
    for _ in range(2):
        session.run_with_iobinding(binding)
        assert_same_bits([out.numpy()], load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_run_async() -> None:
    session, results, done = InferenceSession(BETWEEN), [], threading.Event()

    def take(found: list[np.ndarray], _: Any, error: str) -> None:
        results.append((found, error))
        done.set()

    session.run_async(["out"], SCATTER, take, None)
    assert done.wait(60)
    ((found, error),) = results
    assert not error
    assert_same_bits(found, load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_profiling(tmp_path: Path) -> None:
    options = make_quiet_options()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "run")
    session = InferenceSession(BETWEEN, options)
    session.run(None, SCATTER)
    events = json.loads(Path(session.end_profiling()).read_text())
    assert {"Neg", "ScatterND", "Abs"} <= {event.get("args", {}).get("op_name") for event in events}


def test_other_providers_are_asked_for_the_other_nodes() -> None:
    """This onnxruntime only has the CPU provider, and its warning names the others."""
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not in available provider names"):
        session = InferenceSession(BETWEEN, None, [("CUDAExecutionProvider", {"device_id": 1}), "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    session.set_providers(["CPUExecutionProvider"], [{"use_arena": "0"}])
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_options_stay_as_they_were() -> None:
    """The library is registered with the options once. Other sessions with these options do not change."""
    options = make_quiet_options()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    plain = make_scatter_model(node("Add", "x x", "out"))
    for _ in range(2):
        session = InferenceSession(BETWEEN, options)
        assert_same_bits(session.run(None, SCATTER), load_onnxruntime(BETWEEN).run(None, SCATTER))
        for made in (plain, BETWEEN):
            theirs = onnxruntime.InferenceSession(made.SerializeToString(), options)
            assert_same_bits(theirs.run(None, SCATTER), load_onnxruntime(made).run(None, SCATTER))
    assert session.get_session_options().get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert options.intra_op_num_threads == 0


def test_options_that_a_session_returns() -> None:
    """A session returns a copy of its options."""
    options = InferenceSession(BETWEEN, make_quiet_options()).get_session_options()
    for _ in range(2):
        session = InferenceSession(BETWEEN, options)
        assert_same_bits(session.run(None, SCATTER), load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_options_with_which_the_caller_registered_the_library() -> None:
    options = make_quiet_options()
    options.register_custom_ops_library(str(library_path()))
    session = InferenceSession(BETWEEN, options)
    assert_same_bits(session.run(None, SCATTER), load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_types_that_only_onnx_runtime_knows() -> None:
    model = onnx.parser.parse_model(SUMS.replace('["": 18]', '["": 18, "com.microsoft": 1]') % "com.microsoft.Gelu")
    model.graph.output[0].ClearField("type")
    [output] = InferenceSession(model).get_outputs()
    assert (output.name, output.type) == ("out", "tensor(float)")
