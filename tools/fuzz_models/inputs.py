"""Random inputs for a model."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

SMALL = 20_000  # elements of a random input, at most


def draw_inputs(infos: Sequence[Any], rng: random.Random) -> dict[str, Any]:
    """Draw arrays as declared. If a declared array is large, draw one that the model must refuse."""
    sizes: dict[str | None, int] = {}
    return {info.name: draw_input(info, sizes, np.random.default_rng(rng.getrandbits(32))) for info in infos}


def draw_input(info: Any, sizes: dict[str | None, int], rng: np.random.Generator) -> Any:
    from gatherscatter_models.interface import ModelError
    from gatherscatter_models.random_inputs import numpy_type

    shape = [draw_size(dim, sizes, rng) for dim in ((2,) if info.shape is None else info.shape)]
    if len(shape) > 64 or np.prod([float(size) for size in shape]) > SMALL:
        shape = [1]
    try:
        dtype = numpy_type(info)
    except ModelError:  # not a tensor
        return [np.zeros(2, np.float32)]
    if dtype.hasobject:
        return np.array(rng.integers(0, 9, shape).astype(str), object).reshape(shape)
    if dtype.kind in "iu" or dtype.name.lstrip("u").startswith("int"):
        return rng.integers(0, rng.choice((1, 2, 4)), shape).astype(dtype)
    return rng.integers(-8, 8, shape).astype(np.float32).astype(dtype)


def draw_size(dim: int | str | None, sizes: dict[str | None, int], rng: np.random.Generator) -> int:
    if isinstance(dim, int):
        return dim
    bounds = re.fullmatch(r"(\d{0,9})\.\.(\d*)", dim or "", re.ASCII)
    if bounds:
        return int(bounds[1] or 0)
    return sizes.setdefault(dim, int(rng.integers(1, 4)))
