"""Run ONNX models: in ONNX Runtime with this package's kernels, or on the reference evaluator with them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from gatherscatter.errors import OpError
from gatherscatter_models.interface import ModelError
from gatherscatter_models.onnx.checking import shorten
from gatherscatter_models.onnx.evaluator import Evaluator
from gatherscatter_models.onnx.graph import FunctionKey, callees_first, find_called, one_line
from gatherscatter_models.onnx.inputs import check_inputs
from gatherscatter_models.onnx.reading import CheckedModel, name_model_in_errors, opset_versions, read_onnx, tensor_info
from gatherscatter_models.onnx.session import InferenceSession

ENGINES = ("onnxruntime", "reference")


class OnnxModel:
    """A loaded ONNX model. A run does not change it, so threads may share it.

    Attributes
    ----------
    inputs, outputs : the declarations; inputs with a default are skipped
    node_count : the number of nodes of the main graph
    note : why the reference evaluator runs the model; empty if it was chosen, or if ONNX Runtime runs the model
    """

    def __init__(self, checked: CheckedModel, note: str = "") -> None:
        graph, initializers = checked.proto.graph, checked.initializers
        infos = [tensor_info(value) for value in graph.input]
        self.inputs = tuple(info for info in infos if info.name not in initializers)
        self.outputs = tuple(tensor_info(value) for value in graph.output)
        self.node_count = len(graph.node)
        self.note = note
        self._defaults = tuple(info for info in infos if info.name in initializers)

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph. Inputs with a default are optional. The error of a node has a note with its name."""
        values = self._evaluate(check_inputs(self.inputs, inputs, optional=self._defaults), progress)
        return {info.name: value for info, value in zip(self.outputs, values, strict=True)}

    def _evaluate(self, inputs: dict[str, Any], progress: Callable[[str], None] | None) -> list[Any]:
        raise NotImplementedError


class SessionModel(OnnxModel):
    """A model that runs in ONNX Runtime. ``plan`` lists the nodes that gatherscatter's library runs, and why."""

    def __init__(self, checked: CheckedModel, source: str | os.PathLike[str] | onnx.ModelProto) -> None:
        super().__init__(checked)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised
        self._session = InferenceSession(source, options, move_all=True)
        self.plan = self._session.plan

    def _evaluate(self, inputs: dict[str, Any], progress: Callable[[str], None] | None) -> list[Any]:
        if progress is not None:
            progress("ONNX Runtime")
        try:
            return self._session.run(None, inputs)
        except OpError:
            raise
        except Exception as error:  # onnxruntime raises many types
            raise _read_error(str(error)) from None


_NODE = re.compile(
    r"running (?P<op_type>\w+) node\. Name:'(?P<name>.*?)' Status Message: (?:/\S+ )?(?P<text>.*)", re.DOTALL
)


def _read_error(text: str) -> ModelError:
    """Return an error of ONNX Runtime, with a note that names the node."""
    if (found := _NODE.search(text)) is None:
        return ModelError(shorten(text))
    error = ModelError(one_line(found["text"]))
    error.add_note(f"in node {found['op_type']} {found['name']!r}")
    return error


class ReferenceModel(OnnxModel):
    """A model that runs on the reference evaluator of the onnx package."""

    def __init__(self, checked: CheckedModel, note: str = "") -> None:
        super().__init__(checked, note)
        self.evaluator = make_evaluator(checked.proto)
        self._initializers = checked.initializers

    def _evaluate(self, inputs: dict[str, Any], progress: Callable[[str], None] | None) -> list[Any]:
        evaluator = self.evaluator if progress is None else self.evaluator.reporting(progress)
        with np.errstate(all="ignore"):  # infinities and NaN are results like any other
            return evaluator.run(None, {**self._initializers, **inputs})  # type: ignore[no-any-return]


def load_onnx(source: str | os.PathLike[str] | onnx.ModelProto, engine: str | None = None) -> OnnxModel:
    """Load a model from a file, external data included, or from a ``ModelProto``.

    ``engine`` is one of `ENGINES`. By default, ONNX Runtime runs the model, and the reference evaluator runs a model
    that ONNX Runtime refuses.

    Raises
    ------
    ModelError
        The model is not valid, or the engine can't run it.
    """
    with name_model_in_errors(source):
        checked = read_onnx(source)
        refusal = checked.refusal.text or checked.refusal.python_text
        if engine == "onnxruntime" and refusal:
            raise ModelError(refusal)
        if engine == "reference" or refusal:
            note = f"the reference evaluator runs the model, because {refusal}" if engine is None else ""
            return ReferenceModel(checked, note)
        return SessionModel(checked, source)


def require_engine(checked: CheckedModel) -> None:
    """Raise ModelError unless ONNX Runtime or the reference evaluator can run a model."""
    if checked.refusal.text:
        make_evaluator(checked.proto)


def make_evaluator(model: onnx.ModelProto) -> Evaluator:
    """Return an evaluator for a normalised model; ModelError if it has no implementation of an operator."""
    try:
        made: dict[FunctionKey, Evaluator] = {}
        for key, function in callees_first(model.functions, model.graph.node).items():
            made[key] = Evaluator(function, functions=[made[callee] for callee in find_called(function.node, made)])
        functions = [made[key] for key in find_called(model.graph.node, made)]
        return Evaluator(model.graph, opsets=opset_versions(model), functions=functions)
    except (ModelError, RecursionError):
        raise
    except Exception as error:  # the onnx package raises many types of errors about operators
        raise ModelError(one_line(error) or type(error).__name__) from error
