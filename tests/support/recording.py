"""Record the op versions that a model runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter_models.onnx import evaluator


def record_versions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the evaluator adds the name of each op version that it runs."""
    names: list[str] = []
    call = evaluator.call

    def recording(row: gs.OpVersion, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> np.ndarray:
        names.append(row.name)
        return call(row, inputs, attributes)

    monkeypatch.setattr(evaluator, "call", recording)
    return names
