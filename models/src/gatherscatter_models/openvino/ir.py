"""Run models of OpenVINO on gatherscatter's operators, with NumPy for the other layers. OpenVINO reads the files."""

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
from gatherscatter.messages.text import one_line, quote, quote_if_needed
from gatherscatter_models.findings.static_checks import check_sites
from gatherscatter_models.interface import ModelError, TensorInfo
from gatherscatter_models.openvino.graph import (
    CONSTANTS,
    Layer,
    OutputPort,
    list_layers,
    read_constant,
    read_ir,
    sizes_of,
    type_of,
)
from gatherscatter_models.openvino.inputs import Parameter, accept_inputs, read_parameter
from gatherscatter_models.openvino.ir_call import LayerCall, bind
from gatherscatter_models.openvino.ir_sites import find_sites

Array = NDArray[Any]


class LayerStep(NamedTuple):
    """One layer to run. ``done`` are the tensors that no later layer reads."""

    layer: Layer
    call: LayerCall
    position: int
    done: tuple[OutputPort, ...]


def load_ir(model: str | os.PathLike[str] | Any) -> IrModel:
    """Load an OpenVINO IR, or an `openvino.Model`, and check everything that does not depend on inputs.

    OpenVINO reads the constants from the .bin file with the same name next to the .xml. Every defect raises a
    `ModelError` with one line of text.
    """
    if not isinstance(model, str | os.PathLike):
        return IrModel(model)
    try:
        return IrModel(read_ir(model))
    except ModelError as error:
        raise ModelError(f"{quote_if_needed(Path(model).name)}: {error}") from None


class IrModel:
    """A loaded IR, with the interface `gatherscatter_models.interface.Model`.

    The name of an input is that of its Parameter layer. The names of its tensor are also accepted.

    The name of an output is the first, in alphabetical order, of the tensor names that OpenVINO shows for it
    (`Output.any_name`). If another output already has the name, the next one is used. If none is left, the name of the
    Result layer is used. Shapes and types of outputs are those that OpenVINO finds.
    """

    def __init__(self, model: Any) -> None:
        self.layers = list_layers(model)
        self.parameters = tuple(read_parameter(port) for port in model.inputs)
        _check_names(self.parameters)
        positions = {layer.node.get_instance_id(): i for i, layer in enumerate(self.layers)}
        self.parameter_sources = tuple(
            OutputPort(positions[node.get_instance_id()], 0) for node in model.get_parameters()
        )
        self.results = tuple(self.layers[positions[node.get_instance_id()]].sources[0] for node in model.get_results())
        self._constants = {
            OutputPort(i, 0): read_constant(layer) for i, layer in enumerate(self.layers) if layer.type in CONSTANTS
        }
        self.steps = _steps(self.layers, keep=set(self.results))
        check_sites(find_sites(self.layers))
        self.inputs: tuple[TensorInfo, ...] = tuple(parameter.info for parameter in self.parameters)
        self.outputs: tuple[TensorInfo, ...] = _outputs(model)
        self.node_count: int = len(self.steps)

    def run(
        self, inputs: Mapping[str, ArrayLike], progress: Callable[[str], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the graph. The results share no memory with the inputs or the file.

        A bad index raises the operator's IndexError, with a note that names the layer. All other errors in a layer are
        ModelErrors.
        """
        arrays = accept_inputs(self.parameters, inputs)
        values: dict[OutputPort, Array] = dict(zip(self.parameter_sources, arrays, strict=True))
        with np.errstate(all="ignore"):  # overflow and NaN are valid results
            for step in self.steps:
                if progress is not None:
                    progress(f"{step.layer.type} {quote(step.layer.name)}")
                results = _run_layer(step, [self.value(values, source) for source in step.layer.sources])
                values.update((OutputPort(step.position, i), result) for i, result in enumerate(results))
                for source in step.done:
                    values.pop(source, None)
        return _detach_results([self.value(values, source) for source in self.results], self.outputs, arrays)

    def value(self, values: dict[OutputPort, Array], source: OutputPort) -> Array:
        """Return a tensor: a constant, or one of ``values``."""
        constant = self._constants.get(source)
        return values[source] if constant is None else constant


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
    return results


def _steps(layers: list[Layer], keep: set[OutputPort]) -> tuple[LayerStep, ...]:
    """Return the layers that compute, each with the tensors that may be dropped after it."""
    steps: list[LayerStep] = []
    seen = set(keep)
    for position, layer in reversed(list(enumerate(layers))):
        if layer.type in ("Parameter", "Result", *CONSTANTS):
            continue
        outputs = {OutputPort(position, i) for i in range(layer.node.get_output_size())}
        done = (outputs | set(layer.sources)) - seen
        seen |= done
        steps.append(LayerStep(layer, bind(layer), position, tuple(done)))
    return tuple(reversed(steps))


def _check_names(parameters: tuple[Parameter, ...]) -> None:
    for name, count in Counter(parameter.name for parameter in parameters).items():
        if count > 1:
            raise ModelError(f"{count} Parameter layers have the name {quote(name)}")


def _outputs(model: Any) -> tuple[TensorInfo, ...]:
    infos: dict[str, TensorInfo] = {}
    # One iterator for all results with the names of a tensor: a name that is taken stays taken.
    shared: dict[tuple[int, int], Iterator[str]] = {}
    for port, result in zip(model.outputs, model.get_results(), strict=True):
        source = result.input_value(0)
        key = (source.get_node().get_instance_id(), source.get_index())
        if key in shared and _any_name(port) == _any_name(source):
            names = shared[key]
        else:
            names = shared[key] = iter(sorted(port.get_names()))
        own = result.get_friendly_name()
        name = next((name for name in chain(names, [own]) if name not in infos), None)
        if name is None:
            raise ModelError(f"output {quote(own)}: another output has its name already")
        infos[name] = TensorInfo(name, type_of(port, f"output {quote(own)}").numpy_name, sizes_of(port))
    return tuple(infos.values())


def _any_name(port: Any) -> str:
    try:
        return str(port.get_any_name())
    except RuntimeError:  # it has no name
        return ""
