"""Models whose tensors are larger than a protobuf message can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from gatherscatter_models.onnx.session import InferenceSession
from tests.support.session_graphs import F32, list_moved

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[4]
LARGE = (1 << 31) + (1 << 26)  # bytes: more than a message can have


def make_large_model() -> onnx.ModelProto:
    """Return a model with sums onto rows of a table whose file does not exist yet: float32 [LARGE / 256, 64]."""
    return onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 18]>
        g (int64[k] rows, int64[m, 1] at, float[m, 64] new) => (float[k, 64] out)
        <float[{LARGE // 256}, 64] table>
        {{ some = Gather (table, rows)  out = ScatterND <reduction = "add"> (some, at, new) }}"""
    )


LARGE_FEED = {
    "rows": np.array([LARGE // 256 - 1, 0]),
    "at": np.array([[1], [1], [0]]),
    "new": np.ones((3, 64), F32),
}


def test_external_data_larger_than_a_message(tmp_path: Path) -> None:
    """The file is sparse, so it takes no space on most file systems."""
    with (tmp_path / "weights").open("wb") as file:
        file.truncate(LARGE)
        file.seek(LARGE - 256)
        file.write(np.full(64, 3, F32).tobytes())
    made = make_large_model()
    tensor = made.graph.initializer.add(name="table", data_type=TensorProto.FLOAT, dims=[LARGE // 256, 64])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights")
    path = tmp_path / "large.onnx"
    onnx.save(made, path)
    session = InferenceSession(path)
    assert list_moved(session) == ["ScatterND"]
    (out,) = session.run(None, LARGE_FEED)
    assert [out[0].tolist(), out[1].tolist()] == [[4] * 64, [2] * 64]
    assert sorted(os.listdir(tmp_path)) == ["large.onnx", "weights"]


def test_a_message_in_memory_that_is_too_large_to_be_written(tmp_path: Path) -> None:
    code = (
        "import gc, glob, tempfile, numpy as np, gatherscatter_models as gm\n"
        "from models.tests.onnx.session.test_session_large import LARGE, LARGE_FEED, make_large_model\n"
        "made = make_large_model()\n"
        "tensor = made.graph.initializer.add(name='table', data_type=1, dims=[LARGE // 256, 64])\n"
        "tensor.raw_data = bytes(LARGE)\n"
        "session = gm.onnx.InferenceSession(made)\n"
        "(out,) = session.run(None, LARGE_FEED)\n"
        "assert [out[0, 0], out[1, 0]] == [1, 2], out\n"
        "print(len(session.plan.moved), len(made.graph.initializer[0].external_data))\n"
        "found = f'{tempfile.gettempdir()}/gatherscatter-*'\n"
        "before = len(glob.glob(found))\n"
        "del session, made\n"
        "gc.collect()\n"
        "print(before, len(glob.glob(found)))\n"
    )
    if sys.platform != "linux":
        pytest.skip("needs about 7 GB of memory")
    own = {**os.environ, "TMPDIR": str(tmp_path)}  # other processes may make such folders in the usual one
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=own, check=False)
    assert done.stdout.split() == ["1", "0", "1", "0"], done.stderr
