"""Print the times of exports in docs/pytorch.md: ``python tools/measure_exports.py``, in about a minute.

Each module is exported by PyTorch alone and with `onnx_translations(aten=True)`, and runs in ONNX Runtime and OpenVINO.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime
import openvino
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.exports import Call, Calls, export

bag = torch.nn.functional.embedding_bag


def make_calls() -> list[Call]:
    torch.manual_seed(0)
    table, members = torch.randn(100_000, 64), torch.randint(0, 100_000, (20_000,))
    offsets = torch.sort(torch.randint(0, 20_000, (500,)))[0]
    offsets[0] = 0
    data, rows, source = torch.randn(10_000, 64), torch.randint(0, 10_000, (50_000,)), torch.randn(50_000, 64)
    elements = rows[:, None].expand(-1, 64).contiguous()
    return [
        Call("embedding_bag sum", lambda t, m, o: bag(m, t, o, mode="sum"), (table, members, offsets)),
        Call("embedding_bag max", lambda t, m, o: bag(m, t, o, mode="max"), (table, members, offsets)),
        Call("scatter_reduce mean", lambda d, i, s: d.scatter_reduce(0, i, s, "mean"), (data, elements, source)),
        Call(
            "scatter_reduce amax without self",
            lambda d, i, s: d.scatter_reduce(0, i, s, "amax", include_self=False),
            (data, elements, source),
        ),
        Call("index_add", lambda d, i, s: d.index_add(0, i, s), (data, rows, source)),
        Call("index_put accumulate", lambda d, i, s: d.index_put((i,), s, accumulate=True), (data, rows, source)),
        Call("index_put mask", lambda d, m: d.index_put((m,), torch.zeros(1)), (data, torch.rand(10_000) < 0.3)),
    ]


def in_onnxruntime(model: bytes, arrays: dict[str, np.ndarray]) -> Callable[[], Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 2
    session = onnxruntime.InferenceSession(model, options)
    return lambda: session.run(None, arrays)[0]


def in_openvino(model: bytes, arrays: dict[str, np.ndarray]) -> Callable[[], Any]:
    core = openvino.Core()
    request = core.compile_model(core.read_model(io.BytesIO(model)), "CPU").create_infer_request()
    return lambda: next(iter(request.infer(arrays).values()))


def measure(start: Callable[..., Callable[[], Any]], model: bytes, arrays: Any, expected: np.ndarray) -> str:
    try:
        run = start(model, arrays)
        right = np.allclose(run(), expected, rtol=1e-4, atol=1e-3)
    except Exception:  # of any class: the runtime refuses the model
        return "refused"
    times = []
    for _ in range(7):
        begin = perf_counter()
        run()
        times.append((perf_counter() - begin) * 1e3)
    return f"{min(times):.1f} ms{'' if right else ' (wrong)'}"


def main() -> None:
    for call in make_calls():
        expected = call.function(*call.inputs).numpy()
        for name, options in (("PyTorch's exporter", {}), ("aten=True", {"aten": True})):
            model = export(Calls([call]), call.inputs, **options).model_proto
            arrays = {info.name: tensor.numpy() for info, tensor in zip(model.graph.input, call.inputs, strict=True)}
            nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
            count = sum(node.op_type != "Constant" for node in nodes)
            found = [
                measure(start, model.SerializeToString(), arrays, expected) for start in (in_onnxruntime, in_openvino)
            ]
            print(f"{call.label}, {name}: {count} nodes, ONNX Runtime {found[0]}, OpenVINO {found[1]}")


if __name__ == "__main__":
    main()
