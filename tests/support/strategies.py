"""The random calls of random_calls.py as Hypothesis strategies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_calls import RandomCall, Traits
from gatherscatter_conformance.random_source import HypothesisChoices


@st.composite
def shapes(draw: Callable, low: int, high: int) -> tuple[int, ...]:
    return random_calls.draw_shape(HypothesisChoices(draw), low, high)


@st.composite
def arrays(draw: Callable, name: str, shape: tuple[int, ...]) -> np.ndarray:
    return random_calls.draw_array(HypothesisChoices(draw), name, shape)


@st.composite
def kernel_calls(draw: Callable, traits: Traits) -> RandomCall:
    return random_calls.kernel_call(HypothesisChoices(draw), traits)
