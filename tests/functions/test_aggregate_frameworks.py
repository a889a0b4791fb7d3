"""`aggregate` for PyTorch and JAX, and missing values, also of Dask and pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.functions.statistics.composed import NAMES

ALL = [f"{nan}{name}" for name in NAMES for nan in ("", "nan")]
DIFFERENTIABLE = [name for name in ALL if name.removeprefix("nan") in NAMES[:9]]


def sample(nan: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 4, 30)
    labels[labels == 1] = 0
    values = rng.standard_normal((30, 3))
    if nan:
        values[rng.random(values.shape) < 0.3] = np.nan
        values[labels == 3, 0] = np.nan
    return labels, values


@pytest.fixture(params=["torch", "jax"])
def framework(request: pytest.FixtureRequest) -> Any:
    if request.param == "torch":
        torch = pytest.importorskip("torch")
        return torch.tensor, pytest.importorskip("gatherscatter.torch").aggregate
    jax = pytest.importorskip("jax")
    return jax.numpy.asarray, pytest.importorskip("gatherscatter.jax").aggregate


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_results_are_those_for_numpy(framework: Any, name: str, nan: bool) -> None:
    make, aggregate = framework
    labels, values = sample(nan)
    values = values.astype(np.float32)
    for axis in (0, 1):
        given = values if axis == 0 else values.T.copy()
        wanted = gs.aggregate(labels, given, name, axis=axis, size=6)
        found = np.asarray(aggregate(make(labels), make(given), name, 6, axis=axis))
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    options: dict[str, Any] = {"ddof": 1} if name.removeprefix("nan") in ("var", "std") else {}
    found = np.asarray(aggregate(make(labels), make(values), name, fill_value=1, **options))
    np.testing.assert_allclose(found, gs.aggregate(labels, values, name, axis=0, fill_value=1, **options), rtol=2e-5,
                               atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    gst = pytest.importorskip("gatherscatter.torch")
    labels, values = sample(name.startswith("nan"))
    options: dict[str, Any] = {"ddof": 1, "fill_value": 0} if "var" in name or "std" in name else {"fill_value": 0}
    index, numbers = torch.tensor(labels), torch.tensor(values)
    valid = ~torch.isnan(numbers)

    def call(kept: Any) -> Any:
        return gst.aggregate(index, numbers.masked_scatter(valid, kept), name, 6, **options)

    kept = numbers[valid].clone().requires_grad_()
    torch.autograd.gradcheck(call, (kept,))
    if "std" not in name and "prod" not in name:
        torch.autograd.gradgradcheck(call, (kept,))
    assert not torch.isnan(torch.autograd.grad(call(kept).sum(), kept)[0]).any()


def test_a_group_without_spread_has_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    gst = pytest.importorskip("gatherscatter.torch")
    a = torch.ones(3, requires_grad=True)
    gst.aggregate(torch.tensor([0, 0, 1]), a, "std").sum().backward()
    assert a.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["mean", "nanstd", "first", "argmax", "nanprod"])
def test_compiled_code(name: str) -> None:
    jax = pytest.importorskip("jax")
    gsj = pytest.importorskip("gatherscatter.jax")
    labels, values = sample(True)
    compiled = jax.jit(lambda labels, values: gsj.aggregate(labels, values, name, 6))
    found = np.asarray(compiled(labels, values.astype(np.float32)))
    np.testing.assert_allclose(found, gs.aggregate(labels, values, name, axis=0, size=6), rtol=2e-5, atol=1e-6)
    with pytest.raises(ValueError, match="size is missing"):
        jax.jit(lambda labels, values: gsj.aggregate(labels, values, name))(labels, values)


def test_errors(framework: Any) -> None:
    make, aggregate = framework
    labels, values = make(np.array([0, 1])), make(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"func must be one of 'all', .* not 'median'"):
        aggregate(labels, values, "median")
    with pytest.raises(ValueError, match="ddof has no effect"):
        aggregate(labels, values, "mean", ddof=1)
    with pytest.raises(ValueError, match="does not fit"):
        aggregate(labels, make(np.zeros(3)))
    with pytest.raises(ValueError, match="axis 1 is out of range"):
        aggregate(labels, values, axis=1)
    with pytest.raises(IndexError, match="5"):
        aggregate(make(np.array([0, 5])), values, "mean", 2)


@pytest.mark.parametrize("name", ["first", "last", "argmin", "nanargmax", "mean", "nanstd", "sum", "any"])
def test_no_values(framework: Any, name: str) -> None:
    make, aggregate = framework
    found = np.asarray(aggregate(make(np.zeros(0, np.int32)), make(np.zeros(0, np.float32)), name, 2))
    np.testing.assert_array_equal(found, gs.aggregate(np.zeros(0, int), np.zeros(0, np.float32), name, 2))


def test_moments_of_float32_are_right_far_from_zero(framework: Any) -> None:
    make, aggregate = framework
    values = (1e6 + np.random.default_rng(0).random(100_000)).astype(np.float32)
    labels = np.zeros(100_000, np.int32)
    for name in ("mean", "var", "std"):
        found = np.asarray(aggregate(make(labels), make(values), name, 1))
        np.testing.assert_allclose(found, gs.aggregate(labels, values, name), rtol=1e-4)


def test_means_of_halves_do_not_overflow(framework: Any) -> None:
    make, aggregate = framework
    found = aggregate(make(np.array([0, 0])), make(np.array([60000, 60000], np.float16)), "mean")
    assert (float(found[0]), str(found.dtype).rpartition(".")[2]) == (60000.0, "float16")


def test_errors_name_the_arguments_of_the_caller(framework: Any) -> None:
    make, aggregate = framework
    labels, values = make(np.array([0, 5])), make(np.array([1.0, 2.0], np.float32))
    with pytest.raises(IndexError, match=r"aggregate: group_idx\[1\] = 5 is out of range for 2 groups"):
        aggregate(labels, values, "mean", 2)
    with pytest.raises(TypeError, match="aggregate: group_idx must be integers, not float32"):
        aggregate(values, values, "mean", 2)
    with pytest.raises(TypeError, match="aggregate: reduction 'max' is not defined for elements of type complex64"):
        aggregate(labels, make(np.array([1, 2], np.complex64)), "max", 6)
    with pytest.raises(TypeError, match="size must be an integer"):
        aggregate(labels, values, "mean", True)
    with pytest.raises(TypeError, match="ddof must be an integer"):
        aggregate(labels, values, "var", 6, ddof="1")
    with pytest.raises(ValueError, match=r"fill_value 0\.5 is not a value"):
        aggregate(labels, labels, "max", 6, fill_value=0.5)


# ---------------------------------------------------------------------------------------------------- missing values

NA_TEXT = np.dtypes.StringDType(na_object=np.nan)
WITH_MISSING: dict[str, tuple[np.ndarray, Any, Any]] = {  # the two values, and the result of an empty group
    "times": (np.array(["NaT", "2026-02", "2026-01", "NaT", "NaT"], "M8[s]"), "2026-02", "2026-01"),
    "durations": (np.array(["NaT", 5, 3, "NaT", "NaT"], "m8[s]"), np.timedelta64(5, "s"), np.timedelta64(3, "s")),
    "objects": (np.array([None, "b", "a", np.nan, None], object), "b", "a"),
    "not equal to itself": (np.array([np.datetime64("NaT"), 2, 1, float("nan"), np.nan], object), 2, 1),
    "text": (np.array([np.nan, "b", "a", np.nan, np.nan], NA_TEXT), "b", "a"),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("values", "one", "other"), WITH_MISSING.values(), ids=WITH_MISSING)
def test_missing_values_of_every_type_are_skipped(values: np.ndarray, one: Any, other: Any, lazy: bool) -> None:
    labels, size = np.array([0, 0, 1, 1, 2]), 4
    table: Any = np.stack([values, values[[0, 1, 3, 2, 4]]], 1)
    if lazy:
        table = pytest.importorskip("dask.array").from_array(table, chunks=(2, 1))

    def missing(found: np.ndarray) -> Any:
        objects = found.astype(object)
        return (objects != objects) | np.equal(objects, None)

    for name in ("nanfirst", "nanlast"):
        found = np.asarray(gs.aggregate(labels, table, name, size, axis=0))
        assert (found[0] == np.array(one, values.dtype)).all()
        assert (found[1] == np.array(other, values.dtype)).all()
        assert missing(found[2:]).all()
    assert np.asarray(gs.aggregate(labels, table, "nanlen", size, axis=0)).tolist() == [[1, 1]] * 2 + [[0, 0]] * 2
    assert np.asarray(gs.aggregate(labels, table, "len", size, axis=0)).tolist() == [[2, 2]] * 2 + [[1, 1], [0, 0]]
    filled = np.asarray(gs.aggregate(labels, table, "nanlen", size, -1, axis=0))
    assert filled.tolist() == [[1, 1]] * 2 + [[-1, -1]] * 2
    if not lazy:
        assert gs.aggregate(labels, values, "nannunique").tolist() == [1, 1, 0]
        assert gs.aggregate(labels, values, "nunique").tolist() == [2, 2, 1]
        descending = gs.aggregate(np.zeros(5, int), values, "rsorted")
        assert missing(descending).tolist() == [False] * 2 + [True] * 3
        assert descending[0] == values[1]


def test_the_missing_value_of_pandas_is_skipped() -> None:
    pd = pytest.importorskip("pandas")
    values = np.array([pd.NA, 1, pd.NaT, 2, np.ones(2)], object)
    assert gs.aggregate([0, 0, 0, 0, 1], values, "nanlen").tolist() == [2, 1]
    assert gs.aggregate([0, 0, 0, 0, 1], values, "nanfirst")[0] == 1
    assert gs.aggregate([0] * 4, values[:4], "nunique").tolist() == [3]
