"""What the doctor says of the cases of the corpus, each as a model of one node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.ours import Models
from gatherscatter.conformance.runtimes.runtime import names_of
from gatherscatter.doctor import Diagnosis, examine


class OneNodeModels(Models):
    """The models that the lab gives this package; `examine` runs the lab's own lines with another ``gs.run``."""

    def examine(self, case: Case, *targets: str) -> Diagnosis:
        """The diagnosis of a case's model with its inputs.

        Raises NotAskedError where there is no such model, and ModelError where the doctor can't read it.
        """
        found: list[Diagnosis] = []

        def examine_instead(model: onnx.ModelProto | Path, inputs: Mapping[str, Any]) -> dict[str, None]:
            found.append(examine(model, inputs, targets=targets))
            return {"output": None}

        self.prepare()
        inputs = dict(zip(names_of(case), case.inputs, strict=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Scatter-11 is deprecated, and runs
            exec(self.source(case), {**self._globals, **inputs, "gs": SimpleNamespace(run=examine_instead)})
        return found[0]
