"""InferenceSession has the methods of ONNX Runtime's, and they return the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from gatherscatter.onnx.session import InferenceSession
from tests.support.onnx_graphs import node
from tests.support.session_graphs import (
    ADD,
    BETWEEN,
    F32,
    SCATTER,
    SUMS,
    assert_same_bits,
    list_runners,
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
    cut = InferenceSession(made, make_quiet_options())
    assert list_runners(cut) == "go"
    assert describe(cut) == describe(load_onnxruntime(made))
    feed = {**SCATTER, "unused": [np.array([1])], "nothing": np.array("", object)}
    assert_same_bits(cut.run(None, feed), load_onnxruntime(made).run(None, feed))


def test_ort_values_go_in_and_come_out() -> None:
    feed = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in SCATTER.items()}
    (result,) = InferenceSession(BETWEEN).run_with_ort_values(None, feed)
    assert_same_bits([result.numpy()], load_onnxruntime(BETWEEN).run(None, SCATTER))


def test_run_options_reach_onnxruntime() -> None:
    options = onnxruntime.RunOptions()
    options.terminate = True
    with pytest.raises(Fail, match="terminate"):
        InferenceSession(BETWEEN).run(None, SCATTER, options)


def test_what_needs_one_session_says_so() -> None:
    session = InferenceSession(BETWEEN)
    for call in (session.io_binding, session.end_profiling, lambda: session.run_async(None, SCATTER, print, None)):
        with pytest.raises(NotImplementedError, match=r"this model runs in parts \(see \.plan\)"):
            call()


@pytest.mark.parametrize("made", [BETWEEN, make_scatter_model(node("Add", "x x", "out"))], ids=["in parts", "whole"])
def test_providers_but_the_cpu_are_ignored_with_a_note(made: onnx.ModelProto) -> None:
    with pytest.warns(UserWarning, match="CUDAExecutionProvider ignored") as caught:
        session = InferenceSession(made, None, [("CUDAExecutionProvider", {"device_id": 1}), "CPUExecutionProvider"])
    assert len(caught) == 1
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_types_that_only_onnx_runtime_knows() -> None:
    model = onnx.parser.parse_model(SUMS.replace('["": 18]', '["": 18, "com.microsoft": 1]') % "com.microsoft.Gelu")
    model.graph.output[0].ClearField("type")
    [output] = InferenceSession(model).get_outputs()
    assert (output.name, output.type) == ("out", "tensor(float)")


def test_names_of_outputs_may_come_one_by_one() -> None:
    session = InferenceSession(onnx.parser.parse_model(SUMS % "Neg"))
    feeds = {"data": np.zeros(2, np.float32), "indices": np.array([[0]]), "updates": np.ones(1, np.float32)}
    assert session.run((name for name in ["out"]), feeds)[0].tolist() == [-1, 0]
