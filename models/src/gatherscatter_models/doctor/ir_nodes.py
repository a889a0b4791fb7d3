"""The gather and scatter layers of an OpenVINO IR, with the types and shapes that OpenVINO finds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from gatherscatter.messages.text import quote_if_needed
from gatherscatter.specs.table import OpVersion
from gatherscatter_models.findings.nodes import Key, Observer
from gatherscatter_models.interface import Model, ModelError
from gatherscatter_models.openvino.graph import read_ir
from gatherscatter_models.openvino.ir import IrModel
from gatherscatter_models.openvino.ir_call import LayerCall
from gatherscatter_models.openvino.ir_sites import find_sites


class IrSource:
    """An OpenVINO IR or an `openvino.Model` to examine."""

    def __init__(self, model: str | os.PathLike[str] | Any) -> None:
        is_file = isinstance(model, str | os.PathLike)
        self.name: str = Path(model).name if is_file else model.get_friendly_name()  # type: ignore[union-attr]
        self.notes: list[str] = []
        try:
            self._model = read_ir(model) if is_file else model
            self.sites = list(find_sites(IrModel(self._model).layers))
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None

    def load(self, observe: Observer) -> Model:
        """Return the model, ready to run. ``observe`` is called for every gather and scatter layer."""
        try:
            model = IrModel(self._model)
        except ModelError as error:
            raise ModelError(f"{quote_if_needed(self.name)}: {error}") from None
        model.steps = tuple(
            step._replace(call=_ObservedCall(step.call, (step.position,), observe))  # type: ignore[arg-type]
            if isinstance(step.call.function, OpVersion)
            else step
            for step in model.steps
        )
        return model


class _ObservedCall(NamedTuple):
    """A call that passes its inputs to an observer first. It has the fields of `LayerCall`."""

    call: LayerCall
    key: Key
    observe: Observer

    @property
    def function(self) -> Any:
        return self.call.function

    def __call__(self, inputs: list[Any]) -> tuple[Any, ...]:
        self.observe(self.key, self.call.function, tuple(inputs), self.call.attributes)  # type: ignore[arg-type]
        return self.call(inputs)
