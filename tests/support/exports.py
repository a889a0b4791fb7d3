"""Exports of many calls in one model, which is then run in ONNX Runtime and in `gm.run`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

import gatherscatter_models as gm
from gatherscatter_models.torch import onnx_translations


@dataclass(frozen=True)
class Call:
    """A function of tensors, and its inputs."""

    label: str
    function: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]


class Calls(torch.nn.Module):  # type: ignore[misc]
    """Makes several calls. Their inputs follow each other."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__()
        self.calls = calls

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        results, first = [], 0
        for call in self.calls:
            last = first + len(call.inputs)
            results.append(call.function(*inputs[first:last]))
            first = last
        return tuple(results)


def export(module: torch.nn.Module, inputs: Sequence[Tensor], *, shapes: Any = None, **options: Any) -> Any:
    """Export a module with the translations of `onnx_translations(**options)`, or without options as PyTorch does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.onnx.export(
            module.eval(),
            tuple(inputs),
            dynamo=True,
            custom_translation_table=onnx_translations(**options) if options else None,
            dynamic_shapes=shapes,
            verbose=False,
        )


def export_calls(calls: Sequence[Call], *, dynamic: bool = False, **options: Any) -> onnx.ModelProto:
    """Export several calls. With ``dynamic``, all sizes are dynamic, except the length of index tuples."""
    inputs, shapes = [], []
    for call in calls:
        for number, tensor in enumerate(call.inputs):
            is_tuples = number == 1 and "_nd" in call.label
            inputs.append(tensor.clone())
            shapes.append(dict.fromkeys(range(tensor.ndim - is_tuples), torch.export.Dim.AUTO))
    options = options or {"aten": False}
    return export(Calls(calls), inputs, shapes=(tuple(shapes),) if dynamic else None, **options).model_proto


def run_onnxruntime(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, arrays)


def run_gatherscatter(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    return list(gm.run(model, arrays).values())


def find_departures(
    calls: Sequence[Call], model: onnx.ModelProto, run: Callable[..., list[np.ndarray]] = run_onnxruntime
) -> list[str]:
    """Return a line for each call whose result in the model departs from that of PyTorch."""
    tensors = [tensor for call in calls for tensor in call.inputs]
    names = [info.name for info in model.graph.input]
    found = run(model, {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)})
    lines = []
    for call, result in zip(calls, found, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call.function(*(tensor.clone() for tensor in call.inputs)).numpy()
        same = expected.shape == result.shape and expected.dtype == result.dtype
        if not same or not np.allclose(expected, result, rtol=1e-5, atol=1e-6, equal_nan=True):
            lines.append(f"{call.label}: {expected.dtype}{expected.shape} {expected.ravel()[:6]} is "
                         f"{result.dtype}{result.shape} {result.ravel()[:6]}")  # fmt: skip
    return lines
