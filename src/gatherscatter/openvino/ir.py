"""Run OpenVINO IR files (.xml with .bin) on gatherscatter's operators, with NumPy for the other layers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gatherscatter.errors import OpError
from gatherscatter.model_interface import ModelError, TensorInfo
from gatherscatter.openvino import element_types
from gatherscatter.openvino.ir_call import LayerCall, bind
from gatherscatter.openvino.ir_graph import Graph, OutputPort, build_graph
from gatherscatter.openvino.ir_inputs import Parameter, accept_inputs, read_parameter
from gatherscatter.openvino.ir_read import Layer, one_line, quote, quote_if_needed, read_net
from gatherscatter.openvino.ir_weights import Weights

Array = NDArray[Any]
_CONSTANTS = ("Const", "Constant")


class LayerStep(NamedTuple):
    """One layer to run. ``done`` are the tensors that no later layer reads."""

    layer: Layer
    call: LayerCall
    position: int
    sources: tuple[OutputPort, ...]
    done: tuple[OutputPort, ...]


def load_ir(path: str | os.PathLike[str]) -> IrModel:
    """Read an OpenVINO IR, and check everything that does not depend on inputs.

    The constants come from the .bin file with the same name next to the .xml. No other file is opened. Of layers that
    no result depends on, only the edges are checked. Every defect raises a `ModelError` with one line of text.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise ModelError("there is no such file")
        net = read_net(file)
        graph = build_graph(net, lambda layer: layer.type == "Result")
        return IrModel(graph, Weights(file.with_suffix(".bin")))
    except ModelError as error:
        raise ModelError(f"{quote_if_needed(file.name)}: {error}") from None


class IrModel:
    """A loaded IR, with the interface `gatherscatter.model_interface.Model`.

    The name of an input is that of its Parameter layer. The names of its tensor are also accepted.

    The name of an output is the first, in alphabetical order, of the tensor names that OpenVINO shows for it
    (`Output.any_name`). These are the names on its Result layer or, in files of older releases, on the tensor that
    feeds this layer. If another output already has the name, the next one is used. If none is left, the name of the
    Result layer is used. Shapes and types of outputs are those that the file declares.
    """

    def __init__(self, graph: Graph, weights: Weights) -> None:
        layers, order = graph.layers, graph.order
        parameters = [i for i, layer in enumerate(layers) if layer.type == "Parameter"]
        results = [i for i, layer in enumerate(layers) if layer.type == "Result"]
        for position in (*parameters, *results, *(i for i in order if layers[i].type in _CONSTANTS)):
            _check_ports(layers[position])
        if not results:
            raise ModelError("the model has no Result layer")
        self._parameters = tuple(read_parameter(layers[i]) for i in parameters)
        _check_names(self._parameters)
        self._parameter_sources = tuple(OutputPort(i, 0) for i in parameters)
        self._constants = {OutputPort(i, 0): weights.constant(layers[i]) for i in order if layers[i].type in _CONSTANTS}
        self._results = tuple(graph.sources[i][0] for i in results)
        self._steps = _steps(graph, keep=set(self._results))
        self.inputs: tuple[TensorInfo, ...] = tuple(parameter.info for parameter in self._parameters)
        self.outputs: tuple[TensorInfo, ...] = _outputs(graph, results)
        self.node_count: int = len(self._steps)

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph. The results share no memory with the inputs or the file.

        A bad index raises the operator's IndexError, with a note that names the layer. All other errors in a layer are
        ModelErrors.
        """
        arrays = accept_inputs(self._parameters, inputs)
        values: dict[OutputPort, Array] = dict(zip(self._parameter_sources, arrays, strict=True))
        with np.errstate(all="ignore"):  # overflow and NaN are valid results
            for step in self._steps:
                if progress is not None:
                    progress(f"{step.layer.type} {quote(step.layer.name)}")
                results = _run_layer(step, [self._value(values, source) for source in step.sources])
                values.update((OutputPort(step.position, i), result) for i, result in enumerate(results))
                for source in step.done:
                    values.pop(source, None)
        return _detach_results([self._value(values, source) for source in self._results], self.outputs, arrays)

    def _value(self, values: dict[OutputPort, Array], source: OutputPort) -> Array:
        """Return a tensor. Constants are read from the file at each use, so they take no memory in between."""
        constant = self._constants.get(source)
        return values[source] if constant is None else constant()


def _detach_results(results: list[Array], infos: tuple[TensorInfo, ...], inputs: list[Array]) -> dict[str, np.ndarray]:
    """Return the results by name. Inputs, views, constants of the file and repeated outputs are copied."""
    taken = {id(array) for array in inputs}
    named: dict[str, np.ndarray] = {}
    for info, result in zip(infos, results, strict=True):
        own = result.flags.owndata and result.flags.writeable and id(result) not in taken
        taken.add(id(result))
        named[info.name] = result if own else result.copy()
    return named


def _run_layer(step: LayerStep, inputs: list[Array]) -> tuple[Array, ...]:
    layer = step.layer
    try:
        results = step.call(inputs)
    except MemoryError:
        raise ModelError(f"{layer}: there is not enough memory for its result") from None
    except OpError as error:
        error.add_note(f"in {layer}")
        raise
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
        raise ModelError(f"{layer}: {one_line(error)}") from error
    if len(results) < len(layer.outputs):
        raise ModelError(f"{layer} has {len(layer.outputs)} output ports, but {len(results)} results")
    return results


def _steps(graph: Graph, keep: set[OutputPort]) -> tuple[LayerStep, ...]:
    """Return the layers that compute, each with the tensors that may be dropped after it."""
    steps: list[LayerStep] = []
    seen = set(keep)
    for position in reversed(graph.order):
        layer = graph.layers[position]
        if layer.type in ("Parameter", "Result", *_CONSTANTS):
            continue
        outputs = {OutputPort(position, i) for i in range(len(layer.outputs))}
        done = (outputs | set(graph.sources[position])) - seen
        seen |= done
        steps.append(LayerStep(layer, bind(layer), position, graph.sources[position], tuple(done)))
    return tuple(reversed(steps))


def _check_ports(layer: Layer) -> None:
    inputs, outputs = (1, 0) if layer.type == "Result" else (0, 1)
    if len(layer.inputs) != inputs or len(layer.outputs) < outputs:
        raise ModelError(f"{layer} must have {inputs} input and {outputs} output ports")


def _check_names(parameters: tuple[Parameter, ...]) -> None:
    for name, count in Counter(parameter.name for parameter in parameters).items():
        if count > 1:
            raise ModelError(f"{count} Parameter layers have the name {quote(name)}")


def _outputs(graph: Graph, results: list[int]) -> tuple[TensorInfo, ...]:
    infos: list[TensorInfo] = []
    taken: set[str] = set()
    # One iterator for each tensor, shared by all results that read it: a name that is taken stays taken.
    left: dict[OutputPort, Iterator[str]] = {}
    for position in results:
        layer, source = graph.layers[position], graph.sources[position][0]
        port = graph.layers[source.layer].outputs[source.output]
        if layer.output_names:
            names = iter(sorted(layer.output_names))
        elif source in left:
            names = left[source]
        else:
            names = left[source] = iter(sorted(port.names))
        name = next((name for name in chain(names, [layer.name]) if name not in taken), None)
        if name is None:
            raise ModelError(f"{layer}: another output is called {quote(layer.name)} already")
        taken.add(name)
        element_type = element_types.from_precision(port.precision)
        shown = port.precision.lower() if element_type is None else element_type.numpy_name
        # A port without dims is a scalar or has unknown rank. The format does not distinguish them.
        infos.append(TensorInfo(name, shown or "unknown", tuple(port.dims) or None))
    return tuple(infos)
