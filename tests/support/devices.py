"""Tests that run on the kernels for other devices, with GATHERSCATTER_TORCH_OPERATORS=1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS

only_core = pytest.mark.skipif(USES_TORCH_OPERATORS, reason="a promise of the core; the kernels for devices differ")


def assert_equal(made: Any, expected: Any) -> None:
    """Compare results, bit for bit. The kernels for devices add floats in another order: then within rounding."""
    if USES_TORCH_OPERATORS:
        np.testing.assert_allclose(made, expected, rtol=1e-4 if made.dtype == np.float32 else 1e-12, atol=1e-6)
    else:
        assert np.array_equal(made, expected)
