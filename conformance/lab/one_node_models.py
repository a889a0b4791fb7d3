"""Run the doctor on the cases of the corpus, each as a model of one node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.ours import Models
from gatherscatter_conformance.runtimes.runtime import names_of
from gatherscatter_models.doctor import Diagnosis, examine


class OneNodeModels(Models):
    """The models of the runtime ``gatherscatter-model``. `examine` replaces ``gm.run`` in its lines with the doctor."""

    def examine(self, case: Case, *targets: str) -> Diagnosis:
        """Return the diagnosis of the model of a case with its inputs.

        Raises NotAskedError if the case has no model, and ModelError if the doctor cannot read it.
        """
        found: list[Diagnosis] = []

        def examine_instead(model: onnx.ModelProto | Path, inputs: Mapping[str, Any]) -> dict[str, None]:
            found.append(examine(model, inputs, targets=targets))
            return {"output": None}

        self.prepare()
        inputs = dict(zip(names_of(case), case.inputs, strict=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Scatter-11 is deprecated, but runs
            exec(self.source(case), {**self._globals, **inputs, "gm": SimpleNamespace(run=examine_instead)})
        return found[0]
