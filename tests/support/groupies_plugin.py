"""A plugin for pytest: numpy-groupies' own tests call `gatherscatter.aggregate` instead of its implementations."""

import types

import pytest
from numpy_groupies.tests import helpers

import gatherscatter as gs

_ours = types.ModuleType("gatherscatter_aggregate")
_ours.aggregate = gs.aggregate  # type: ignore[attr-defined]
helpers._backend_names.clear()
helpers._backend_names[_ours] = "numpy"
helpers._implementations[:] = [_ours]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=100)  # an option of the package's own conftest.py
