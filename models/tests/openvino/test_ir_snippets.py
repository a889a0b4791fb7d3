"""The XML snippets of OpenVINO's specifications of ScatterUpdate-3 and GatherND-8, completed to whole models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gatherscatter_models.openvino.ir import load_ir
from tests.support.openvino_package import assert_same, run_in_openvino

SCATTER_UPDATE = """
<layer id="9" name="scatter" version="opset3" type="ScatterUpdate">
<input>
<port id="0"> <!-- data -->
<dim>{data}</dim>
</port>
<port id="1"> <!-- indices -->
<dim>2</dim>
</port>
<port id="2"> <!-- udpates -->
<dim>3</dim>
<dim>2</dim>
</port>
<port id="3"> <!-- axis -->
<dim>1</dim> <!-- value [1] -->
</port>
</input>
<output>
<port id="4" precision="FP32"> <!-- output -->
<dim>3</dim>
<dim>5</dim>
</port>
</output>
</layer>"""

GATHER_ND = """
<layer id="9" name="gather" type="GatherND" version="opset8">
    <data batch_dims="{batch_dims}" />
    <input>
        <port id="0">{data}</port>
        <port id="1">{indices}</port>
    </input>
    <output>
        <port id="3" precision="FP32">{output}</port>
    </output>
</layer>"""


def dims(shape: tuple[int, ...]) -> str:
    return "".join(f"<dim>{size}</dim>" for size in shape)


def complete(layer: str, inputs: dict[str, np.ndarray], out_port: int) -> str:
    """Complete a snippet to a model: a Parameter for every input port, a Result, and the edges."""
    types = {
        np.dtype(np.float32): ("f32", "FP32"),
        np.dtype(np.int32): ("i32", "I32"),
        np.dtype(np.int64): ("i64", "I64"),
    }
    layers, edges = "", ""
    for i, (name, array) in enumerate(inputs.items()):
        short, precision = types[array.dtype]
        layers += f"""<layer id="{i}" name="{name}" type="Parameter" version="opset1">
            <data shape="{",".join(map(str, array.shape))}" element_type="{short}"/>
            <output><port id="0" precision="{precision}">{dims(array.shape)}</port></output></layer>"""
        edges += f'<edge from-layer="{i}" from-port="0" to-layer="9" to-port="{i}"/>'
    edges += f'<edge from-layer="9" from-port="{out_port}" to-layer="10" to-port="0"/>'
    result = '<layer id="10" name="result" type="Result" version="opset1"><input><port id="0"/></input></layer>'
    return f"""<?xml version="1.0"?><net name="snippet" version="11">
        <layers>{layers}{layer}{result}</layers><edges>{edges}</edges></net>"""


def write_snippet(folder: Path, text: str) -> Path:
    path = folder / "snippet.xml"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".bin").touch()  # the openvino package requires this file even without constants
    return path


def test_seed_scatter_update_example_2(tmp_path: Path) -> None:
    inputs = {
        "data": np.array([[-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]], np.float32),
        "indices": np.array([0, 2], np.int32),
        "updates": np.array([[1, 1], [1, 1], [1, 2]], np.float32),
        "axis": np.array([1], np.int32),
    }
    path = write_snippet(tmp_path, complete(SCATTER_UPDATE.format(data=3), inputs, 4))
    result = load_ir(path).run(inputs)
    assert result["result"].tolist() == [[1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]]
    assert result["result"].dtype == np.float32


def test_seed_scatter_update_example_1(tmp_path: Path) -> None:
    """The ranks are those of the document, at a hundredth of its size. The declared sizes of its ports are ignored."""
    rng = np.random.default_rng(1)
    inputs = {
        "data": rng.random((10, 256, 2, 3), np.float32),
        "indices": rng.permutation(256)[: 12 * 5].reshape(12, 5),
        "updates": rng.random((10, 12, 5, 2, 3), np.float32),
        "axis": np.array([1], np.int64),
    }
    path = write_snippet(tmp_path, complete(SCATTER_UPDATE.format(data="1000"), inputs, 4))
    expected = inputs["data"].copy()
    expected[:, inputs["indices"]] = inputs["updates"]
    np.testing.assert_array_equal(load_ir(path).run(inputs)["result"], expected)


@pytest.mark.parametrize(
    ("batch_dims", "data", "indices", "output"),
    [
        (0, (100, 26, 10, 15), (25, 125, 3), (25, 125, 15)),  # in the document, the first sizes are 1000 and 256
        (2, (30, 2, 100, 35), (30, 2, 3, 1), (30, 2, 3, 35)),
        (3, (1, 64, 64, 320), (1, 64, 64, 1, 1), (1, 64, 64, 1)),
    ],
)
def test_seed_gather_nd_xml(
    batch_dims: int, data: tuple[int, ...], indices: tuple[int, ...], output: tuple[int, ...], tmp_path: Path
) -> None:
    text = GATHER_ND.format(batch_dims=batch_dims, data=dims(data), indices=dims(indices), output=dims(output))
    rng = np.random.default_rng(2)
    limit = np.array(data[batch_dims : batch_dims + indices[-1]])
    inputs = {"data": rng.random(data, np.float32), "indices": (rng.random(indices) * limit).astype(np.int32)}
    path = write_snippet(tmp_path, complete(text, inputs, 3))
    result = load_ir(path).run(inputs)
    assert result["result"].shape == output
    assert_same(result, run_in_openvino(path, inputs))


def test_seed_snippets_equal_openvino(tmp_path: Path) -> None:
    inputs = {
        "data": np.arange(15, dtype=np.float32).reshape(3, 5),
        "indices": np.array([0, 2], np.int32),
        "updates": -np.ones((3, 2), np.float32),
        "axis": np.array([1], np.int32),
    }
    path = write_snippet(tmp_path, complete(SCATTER_UPDATE.format(data=3), inputs, 4))
    assert_same(load_ir(path).run(inputs), run_in_openvino(path, inputs))
