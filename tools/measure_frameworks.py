"""Print the figures of docs/pytorch.md and docs/onnx.md: ``python tools/measure_frameworks.py``, in about a minute.

The compared functions run in turn. The least time of each counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "mul": "prod"}


def by_turns(calls: list[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """Return the milliseconds of each call in each round."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            start = perf_counter()
            call()
            taken.append((perf_counter() - start) * 1e3)
    return times


def reduction(name: str, own: str, rows: int, places: int, width: int) -> None:
    """Compare `segment.scatter` with `Tensor.scatter_reduce_`."""
    import torch

    from gatherscatter.torch.segment import scatter

    src, index = torch.randn(rows, width), torch.randint(0, places, (rows,))
    wide = index[:, None].expand(rows, width)

    def theirs() -> Any:
        return torch.zeros(places, width).scatter_reduce_(0, wide, src, own, include_self=name == "sum")

    calls = [lambda: scatter(src, index, 0, dim_size=places, reduce=name), theirs]
    least = map(min, by_turns(calls, 5 if rows > 5000 else 300))
    print(f"{rows} x {width} into {places}, {name}: ", "{:.3f} ms, PyTorch {:.3f}".format(*least))


NEIGHBOURS = """<ir_version: 10, opset_import: ["": 18]>
    g (float[nodes, 64] x, int64[edges] source, int64[edges, 1] target) => (float[nodes, 64] out)
    { sent = Gather (x, source)  out = ScatterND <reduction = "add"> (x, target, sent) }"""


def sessions() -> None:
    """Compare `InferenceSession` with ONNX Runtime on all threads and on one, for two models."""
    import onnx

    from tests.support.onnx_networks import graph_network, graph_network_inputs

    network, neighbours = graph_network(), onnx.parser.parse_model(NEIGHBOURS)
    for nodes, edges, rounds in ((50, 200, 400), (1000, 5000, 100), (1000, 50_000, 25), (20_000, 200_000, 9)):
        inputs = graph_network_inputs(nodes, edges)
        _compare_sessions(f"network of {nodes} nodes, {edges} edges", network, inputs, rounds)
        few = {"x": inputs["x"], "source": inputs["source"], "target": inputs["target"][:, None]}
        _compare_sessions(f"neighbours of {nodes} nodes, {edges} edges", neighbours, few, rounds)


def _compare_sessions(title: str, model: Any, inputs: dict[str, Any], rounds: int) -> None:
    import onnxruntime

    from gatherscatter.onnx.session import InferenceSession

    onnxruntime.set_default_logger_severity(4)
    single = onnxruntime.SessionOptions()
    single.intra_op_num_threads = 1
    data = model.SerializeToString()
    runners = [InferenceSession(model), onnxruntime.InferenceSession(data), onnxruntime.InferenceSession(data, single)]
    calls = [partial(each.run, None, inputs) for each in runners]
    times = ", ".join(f"{min(each):.2f} ({median(each):.2f})" for each in by_turns(calls, rounds))
    results = [len({call()[0].tobytes() for _ in range(min(rounds, 20))}) for call in calls]
    print(f"{title}: {times} ms; different results: {results}")


if __name__ == "__main__":
    for shape in ((1_000_000, 100_000, 64), (1_000_000, 100_000, 1), (200_000, 10_000, 128), (1000, 100, 16)):
        for name, own in REDUCTIONS.items():
            reduction(name, own, *shape)
    sessions()
