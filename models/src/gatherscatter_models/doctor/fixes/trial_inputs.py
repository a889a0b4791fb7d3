"""Random inputs for a model: indices in the whole range of their axes, some of them bad, and values of many kinds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, product, zip_longest
from typing import Any

import numpy as np

from gatherscatter_models.interface import Model, ModelError, TensorInfo
from gatherscatter_models.random_inputs import make_inputs, numpy_type

OPEN_SIZES = (3, 8, 2, 1, 64)  # sizes to try for dims that the model leaves open
TRIES = 130
SECONDS = 30.0  # after which no more shapes are tried

Arrays = Mapping[str, Any]
Shapes = Mapping[str, tuple[int, ...]]
Dim = int | tuple[str, int]
Limits = dict[str, list[tuple[int, int]]]  # the range [least, end) of each column of tuples, or of single indices


class TrialInputs:
    """Inputs of a model by number. In inputs number 0, all integers are 0.

    ``shapes`` are the shapes to make. ``limits`` has the valid ranges of inputs that are used as indices. Other
    integers are drawn from the values in ``given``, because they may also become indices.
    """

    def __init__(
        self,
        model: Model,
        shapes: Shapes,
        limits: Limits,
        given: Arrays,
        seed: int,
    ) -> None:
        self._declared = model.inputs
        self._shapes = dict(shapes)
        self._limits = limits
        self._given = given
        self._seed = seed

    def __getitem__(self, number: int) -> Arrays:
        arrays = make_inputs(self._declared, seed=self._seed + number, shapes=self._shapes)
        if number == 0:
            return arrays
        generator = np.random.default_rng((self._seed, number))
        return {info.name: self._array(generator, info, arrays[info.name], number) for info in self._declared}

    def _array(self, generator: np.random.Generator, info: TensorInfo, made: np.ndarray, number: int) -> np.ndarray:
        """Return one input. In some runs an index is bad or a value is NaN."""
        if limits := self._limits.get(info.name):
            return _indices(generator, made, limits, bad=number % 4 == 3)
        is_float = numpy_type(info).kind == "f" or info.element_type == "bfloat16"
        if is_float and info.name in self._limits:
            return _floats(generator, made, with_nan=number % 4 == 2)
        if info.name not in self._given or not made.size or not (is_float or made.dtype.kind in "iu"):
            return made
        values = generator.choice(np.ravel(self._given[info.name]), made.shape)
        return (values * generator.uniform(0.5, 1, made.shape) if is_float else values).astype(made.dtype)


def find_shapes(model: Model, runs: Callable[[Arrays], bool]) -> dict[str, tuple[int, ...]] | None:
    """Return shapes of inputs with which the model runs; None if none were found."""
    if any(info.shape is None for info in model.inputs):
        return None
    start = time.monotonic()
    for shapes in islice(_candidates(model.inputs), TRIES):
        try:
            if runs(make_inputs(model.inputs, shapes=shapes)):
                return shapes
        except ModelError:  # the inputs would fill the memory, or have a type that can't be generated
            continue
        if time.monotonic() - start > SECONDS:
            break
    return None


def _candidates(declared: Sequence[TensorInfo]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield shapes with sizes for the open dims: first all the same, then in combinations."""
    keyed, dims = _dims(declared)
    equal = ((size,) * len(dims) for size in OPEN_SIZES)
    for sizes in chain(equal, product(OPEN_SIZES, repeat=len(dims))):
        known = dict(zip(dims, sizes, strict=True))
        yield {name: tuple(dim if isinstance(dim, int) else known[dim] for dim in each) for name, each in keyed.items()}


def empty_shapes(declared: Sequence[TensorInfo], shapes: Shapes) -> Iterator[Shapes]:
    """Yield the shapes with 0 for one of the open dims, for each in turn."""
    keyed, dims = _dims(declared)
    for empty in dims:
        yield {
            name: tuple(0 if dim == empty else size for dim, size in zip_longest(keyed[name], shape))
            for name, shape in shapes.items()
        }


def _dims(declared: Sequence[TensorInfo]) -> tuple[dict[str, list[Dim]], list[Dim]]:
    """Return the dims of each input, and all open dims."""
    keyed = {info.name: [_dim(info, axis) for axis in range(len(info.shape or ()))] for info in declared}
    return keyed, list(dict.fromkeys(dim for each in keyed.values() for dim in each if not isinstance(dim, int)))


def _dim(info: TensorInfo, axis: int) -> Dim:
    """Return a size, or a key for an open dim. Dims of the same name share a key; each unnamed dim has its own."""
    dim = (info.shape or ())[axis]
    if isinstance(dim, int):
        return dim
    return (info.name, axis) if dim is None else (dim, -1)


def _indices(
    generator: np.random.Generator, made: np.ndarray, ranges: Sequence[tuple[int, int]], *, bad: bool
) -> np.ndarray:
    """Return indices in the whole of their ranges. With ``bad``, one of them is just outside."""
    low, end = np.array(ranges, np.int64).T
    array = generator.integers(low, np.maximum(end, low + 1), size=made.shape).astype(made.dtype)
    if bad and array.size:
        position = np.unravel_index(generator.integers(array.size), array.shape)
        column = int(position[-1]) % len(ranges) if position else 0
        array[position] = generator.choice([end[column], low[column] - 1])
    return array


def _floats(generator: np.random.Generator, made: np.ndarray, *, with_nan: bool) -> np.ndarray:
    """Return values of both signs and many magnitudes. Some are whole, some are NaN."""
    values = generator.standard_normal(made.shape) * 10.0 ** generator.integers(-2, 3, size=made.shape)
    values = np.where(generator.random(made.shape) < 0.2, np.round(values), values)
    if with_nan:
        values = np.where(generator.random(made.shape) < 0.2, np.nan, values)
    return values.astype(made.dtype)
