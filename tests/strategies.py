"""The random calls of calls.py as Hypothesis strategies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from gatherscatter.conformance import calls
from gatherscatter.conformance.calls import Call, Traits
from gatherscatter.conformance.choices import Drawn


@st.composite
def shapes(draw: Callable, low: int, high: int) -> tuple[int, ...]:
    return calls.a_shape(Drawn(draw), low, high)


@st.composite
def arrays(draw: Callable, name: str, shape: tuple[int, ...]) -> np.ndarray:
    return calls.an_array(Drawn(draw), name, shape)


@st.composite
def kernel_calls(draw: Callable, traits: Traits) -> Call:
    return calls.kernel_call(Drawn(draw), traits)
