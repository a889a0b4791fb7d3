"""Run a model in a runtime in a separate process, because the model may crash it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gatherscatter.arrays.tensor_files import read_tensors
from gatherscatter.system.processes import AnsweringProcess

TIME_LIMIT = 300.0  # seconds of a run
TURN = 0.02  # seconds for which a short model runs repeatedly


class ModelProcess(AnsweringProcess):
    """A process in which a runtime has loaded a model.

    Parameters
    ----------
    runtime : a key of `in_runtime.LOADERS`
    model, inputs : the files of a model and of its inputs
    results : the file for the results of the first run
    """

    def __init__(self, runtime: str, model: Path, inputs: Path, results: Path) -> None:
        module = "gatherscatter_models.doctor.fixes.in_runtime"
        super().__init__(module, runtime, str(model), str(inputs), str(results), time_limit=TIME_LIMIT)
        self._results = results

    def run(self) -> float:
        """Run the model and return the fewest seconds of a run. The first call runs it once, later calls repeatedly.

        Raises
        ------
        NoAnswerError
            The runtime refuses the model, the process has died, or it took too long.
        """
        return float(self.ask())

    def read_results(self) -> Mapping[str, np.ndarray]:
        """Return the results of the first run."""
        tensors = read_tensors(self._results)
        return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in tensors.items()}
