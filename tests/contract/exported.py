"""The adapters of programs that PyTorch exports."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gatherscatter import oracle
from gatherscatter.operation import SCATTERS
from tests.contract.calls import Call
from tests.contract.torch_adapters import GatherscatterTorch

_OTHERS = ("statistics", "casts", "layouts", "empty", "objects", "errors", "out", "num_threads", "gradients")


class TorchExport(GatherscatterTorch):
    """All calls are in one exported program."""

    name = "torch.export"
    step = 4
    lacks: ClassVar = GatherscatterTorch.lacks | {
        **dict.fromkeys(_OTHERS, "a program has the operators of gatherscatter.torch"),
        **dict.fromkeys(("gather_tree", "tensor_scatter"), "it is not an operator of PyTorch"),
    }

    def run(self, call: Call, **objects: Any) -> np.ndarray:
        made: np.ndarray = self.run_all([call])[0]
        return made

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        import torch

        functions = [partial(self.find(call.function), **call.options) for call in calls]

        class Program(torch.nn.Module):
            def forward(self, inputs: Any) -> Any:
                return [function(**given) for given, function in zip(inputs, functions, strict=True)]

        given = [{name: self.give(value) for name, value in call.inputs.items()} for call in calls]
        program = torch.export.export(Program(), (given,)).module()
        return [self.take(made) for made in program(given)]


class OnnxExport(TorchExport):
    """All calls are in one model, which ONNX Runtime runs. Its operators are those of ONNX."""

    name = "torch to ONNX"
    library = "onnxscript"
    step = 2
    _HELD = ("bool", "int64", "float32", "float64")
    lacks: ClassVar = TorchExport.lacks | {
        **dict.fromkeys(set(oracle.T24) - set(_HELD), "ONNX Runtime has kernels for some types in some operators"),
        **dict.fromkeys(_OTHERS, "a model has the operators of ONNX"),
        "int64.reduction=mean": "sums can overflow in ONNX",
        "bool.weights": "the model is not valid: see test_values.py",
        "sums": "exact sums need the operators of the domain",
        "aggregate": "it is made of other functions",
    }

    def rounds(self, call: Call) -> bool:
        return True

    def find_gap_of_call(self, call: Call, element: str) -> str:
        if call.function in SCATTERS and "reduction" not in call.options:
            return "ONNX does not define which of several updates remains"
        if call.function == "gather_reduce" and call.inputs["indices"].ndim > 1 and element == "int64":
            return "ReduceSum of ONNX Runtime rounds sums of int64 to float64"
        return super().find_gap_of_call(call, element)

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        exports: Any = importlib.import_module("tests.support.exports")
        made = [exports.Call(call.function, partial(self._apply, call), self._list_tensors(call)) for call in calls]
        model = exports.export_calls(made, domain=True)
        arrays = [tensor.numpy() for each in made for tensor in each.inputs]
        names = [info.name for info in model.graph.input]
        found: list[Any] = exports.run_onnxruntime(model, dict(zip(names, arrays, strict=True)))
        return found

    def _apply(self, call: Call, *tensors: Any) -> Any:
        return self.find(call.function)(**dict(zip(call.inputs, tensors, strict=True)), **call.options)

    def _list_tensors(self, call: Call) -> tuple[Any, ...]:
        numbers = ("data", "updates", "weights")
        return tuple(
            self.give(value if name in numbers else value.astype(np.int64)) for name, value in call.inputs.items()
        )
