"""gatherscatter.jax.gather_reduce: the bits of the array function, jit, vmap and gradients of two orders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from tests.support.judge import outcome

jax: Any = pytest.importorskip("jax")
jnp: Any = jax.numpy
gsj: Any = pytest.importorskip("gatherscatter.jax")
check_grads = pytest.importorskip("jax.test_util").check_grads

# The tests cover both ways to call the kernels. A core that was built without jax.ffi warns about the slower one.
pytestmark = pytest.mark.filterwarnings("ignore:.*every call in a compiled JAX program")

REDUCTIONS = ("add", "mul", "min", "max", "mean")
ACCUMULATE = ("step", "wide", "exact")
MODES = ("raise", "wrap", "clip", "fill")
DTYPES = ("bool", "int32", "uint8", "float16", "bfloat16", "float32", "float64", "complex64")
FAILED = (jax.errors.JaxRuntimeError, ValueError)  # JAX decides which one is raised
ROWS = 5
# Bags of 3, 3 and 2 members; of 3, 0 and 5; and in any order, with an empty last bag.
FORMS: dict[str, dict[str, Any]] = {
    "indices": {"indices": np.array([[[0, 3, 3], [4, 1, 0]], [[2, 1, -2], [-5, 4, 2]]])},
    "offsets": {"indices": np.array([0, 3, 3, 4, 1, 0, -3, -1]), "offsets": np.array([0, 3, 3])},
    "offsets alone": {"offsets": np.array([0, 0, 2])},
    "indptr": {"indices": np.array([0, 3, 3, 4, 1, 0, -3, -1]), "indptr": np.array([0, 3, 3, 8])},
    "segment_ids": {"indices": np.array([0, 3, 3, 4, 1, 0, -3]), "segment_ids": np.array([2, 0, 2, 2, 0, 1, 1]),
                    "num_segments": 4},
    "segment_ids alone": {"segment_ids": np.array([1, 0, 1, 0, 0]), "num_segments": 3},
}  # fmt: skip


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def member_shape(form: str) -> tuple[int, ...]:
    return FORMS[form]["indices"].shape if "indices" in FORMS[form] else (ROWS,)


def bad_form(form: str) -> dict[str, Any]:
    """Set some indices out of range."""
    return {name: value * 3 if name == "indices" else value for name, value in FORMS[form].items()}


def bags_of(form: str) -> list[list[int]]:
    """Return the flat members of each bag, by their definition."""
    count, given = int(np.prod(member_shape(form))), FORMS[form]
    if "offsets" in given:
        ends = [*given["offsets"][1:], count]
        return [list(range(first, end)) for first, end in zip(given["offsets"], ends, strict=True)]
    if "indptr" in given:
        return [list(range(*pair)) for pair in itertools.pairwise(given["indptr"])]
    if "segment_ids" in given:
        return [[m for m in range(count) if given["segment_ids"][m] == b] for b in range(given["num_segments"])]
    return np.arange(count).reshape(-1, member_shape(form)[-1]).tolist()


def plain(
    form: str, data: Any, weights: Any, reduction: str, default: Any = 0, mode: str = "raise", **members: Any
) -> Any:
    """Compute the same with functions of jax.numpy, one bag after the other. JAX derives its gradients."""
    given = members or FORMS[form]
    indices = given.get("indices", np.arange(ROWS)).reshape(-1)
    row_numbers = {
        "raise": np.where(indices < 0, indices + ROWS, indices),
        "wrap": indices % ROWS,
        "clip": np.clip(indices, 0, ROWS - 1),
        "fill": np.where(indices < 0, indices + ROWS, indices),
    }[mode]
    there = (row_numbers >= 0) & (row_numbers < ROWS)
    assert there.all() or mode == "fill"
    wide = lambda mask, like: mask.reshape(-1, *(1,) * (like.ndim - 1))  # noqa: E731
    rows = data[np.where(there, row_numbers, 0)]
    rows = jnp.where(wide(there, rows), rows, 0)
    rows = rows if weights is None else rows * wide(weights.reshape(-1), rows)
    fold = {"add": jnp.sum, "mul": jnp.prod, "min": jnp.min, "max": jnp.max, "mean": jnp.mean}[reduction]
    empty = jnp.broadcast_to(jnp.asarray(default, data.dtype), data.shape[1:])
    folded = [fold(rows[np.array(bag)], axis=0) if bag else empty for bag in bags_of(form)]
    return jnp.stack(folded).reshape(*member_shape(form)[:-1] if form == "indices" else (-1,), *data.shape[1:])


def make(form: str, dtype: Any = np.float64, features: tuple[int, ...] = (2,)) -> tuple[Any, Any]:
    """Return data and weights of small numbers. All products differ."""
    rng = np.random.default_rng(6)
    data, weights = rng.uniform(0.7, 1.3, (ROWS, *features)), rng.uniform(0.7, 1.3, member_shape(form))
    data *= rng.choice([-1, 1], data.shape)
    return jnp.asarray(data).astype(dtype), jnp.asarray(weights).astype(dtype)


# -------------------------------------------------------------------------------------- results, eagerly and compiled


def check_result(result: Any, expected: np.ndarray) -> None:
    assert isinstance(result, jax.Array)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert np.asarray(result).tobytes() == expected.tobytes()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_the_bits_of_the_array_function(form: str, name: str) -> None:
    data, weights = make(form, name, (2, 3))
    for reduction, accumulate, mode in itertools.product(REDUCTIONS, ACCUMULATE, MODES):
        if accumulate != "step" and reduction in ("min", "max"):
            continue
        members = FORMS[form] if mode == "raise" else bad_form(form)
        weight = weights if accumulate == "step" else None
        how = {"reduction": reduction, "accumulate": accumulate, "mode": mode, "num_threads": 2}
        call = lambda data, default, weight, members=members, how=how: gsj.gather_reduce(  # noqa: E731
            data, **members, weights=weight, default=default, **how
        )
        arrays = {"weights": None if weight is None else np.asarray(weight), "default": np.asarray(data)[0]}
        expected = outcome(gs.gather_reduce, np.asarray(data), **members, **arrays, **how)
        # Compiling takes time. Each reduction is compiled once, and each way to accumulate at least once.
        compiled = mode == "fill" and accumulate == ACCUMULATE[REDUCTIONS.index(reduction) % 3]
        functions = [call, jax.jit(call)] if compiled else [call]
        for function in functions:
            if isinstance(expected, OpTypeError):
                with pytest.raises(OpTypeError) as caught:
                    function(data, data[0], weight)
                assert str(caught.value) == str(expected)
            else:
                check_result(function(data, data[0], weight), expected)


def test_the_number_of_segments() -> None:
    data, ids = jnp.arange(3.0), jnp.array([2, 0, 2])
    assert gsj.gather_reduce(data, segment_ids=ids).tolist() == [1, 0, 2]
    assert jax.jit(lambda data: gsj.gather_reduce(data, segment_ids=[2, 0, 2]))(data).tolist() == [1, 0, 2]
    assert jax.jit(lambda data: gsj.gather_reduce(data, segment_ids=ids))(data).tolist() == [1, 0, 2]
    gradient = jax.grad(lambda data: gsj.gather_reduce(data, segment_ids=ids) @ jnp.array([1.0, 10.0, 100.0]))
    assert gradient(data).tolist() == [100, 1, 100]
    for wrap in (jax.jit, jax.vmap):
        with pytest.raises(OpValueError, match="gather_reduce: num_segments is missing; it is required in code"):
            wrap(lambda ids: gsj.gather_reduce(jnp.zeros(3), segment_ids=ids + jnp.zeros(3, int)))(ids[np.newaxis])
    counted = jax.jit(gsj.gather_reduce, static_argnames="num_segments")(data, segment_ids=ids, num_segments=5)
    assert counted.tolist() == [1, 0, 2, 0, 0]


def test_without_members_rows_or_features() -> None:
    def both(data: Any, **members: Any) -> Any:
        call = lambda data: gsj.gather_reduce(data, **members, default=3)  # noqa: E731
        gradient = jax.jit(jax.grad(lambda data: call(data).sum()))(data)
        assert gradient.shape == data.shape
        return jax.jit(call)(data).tolist(), gradient.tolist()

    none = np.zeros(0, int)
    assert both(jnp.ones((2, 1)), indices=np.zeros((2, 0), int)) == ([[3], [3]], [[0], [0]])
    assert both(jnp.ones((0, 1)), indices=np.zeros((1, 0), int)) == ([[3]], [])
    assert both(jnp.ones((2, 1)), indices=none, offsets=[0, 0]) == ([[3], [3]], [[0], [0]])
    assert both(jnp.ones((2, 1)), indices=none, segment_ids=none, num_segments=1) == ([[3]], [[0], [0]])
    assert both(jnp.ones((2, 0)), indices=[[0, 1]]) == ([[]], [[], []])
    assert both(jnp.ones(2), indices=np.zeros((0, 3), int)) == ([], [0, 0])


# --------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.full
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("form", "mode"), [*((form, "raise") for form in FORMS), ("offsets", "fill")])
def test_both_derivatives_by_differences(form: str, mode: str, reduction: str) -> None:
    members = FORMS[form] if mode == "raise" else bad_form(form)
    data, weights = make(form)
    how = {**members, "reduction": reduction, "mode": mode}
    weighted = lambda data, weights: jnp.sin(gsj.gather_reduce(data, weights=weights, **how))  # noqa: E731
    check_grads(weighted, (data, weights), order=2, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-4)
    if form in ("indices", "segment_ids alone"):
        alone = lambda data: jnp.sin(gsj.gather_reduce(data, **how))  # noqa: E731
        check_grads(alone, (data,), order=2, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-4)


# Each type and each form, with every reduction. The other form is "offsets alone", above.
TYPED = [("segment_ids", name) for name in ("float16", "float64", "complex64")]
TYPED += [("indices", "float32"), ("offsets", "bfloat16"), ("segment_ids alone", "float32")]
TOLERANCES = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5}


@pytest.mark.full
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("form", "name"), TYPED)
def test_gradients_are_those_of_jax(form: str, reduction: str, name: str) -> None:
    if name == "complex64" and reduction in ("min", "max"):
        return
    data, weights = make(form, name)
    if name == "complex64":
        data, weights = data * (1 + 0.5j), weights * (0.5 - 1j)
    turn = jnp.asarray(1 + 0.25j if name == "complex64" else 1).astype(name)
    loss = lambda how: lambda data, weights: (jnp.sin(how(data, weights)) * turn).real.sum()  # noqa: E731
    ours = loss(lambda data, weights: gsj.gather_reduce(data, weights=weights, **FORMS[form], reduction=reduction))
    theirs = loss(lambda data, weights: plain(form, data, weights, reduction))
    wide = "float64" if name in ("bfloat16", "float16") else name
    expected = jax.jit(jax.grad(theirs, (0, 1)))(data.astype(wide), weights.astype(wide))
    for function in (jax.grad(ours, (0, 1)), jax.jit(jax.grad(ours, (0, 1)))):
        for got, true in zip(function(data, weights), expected, strict=True):
            assert got.dtype == data.dtype
            np.testing.assert_allclose(got.astype(wide), true, rtol=TOLERANCES[name], atol=TOLERANCES[name])


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
def test_gradients_where_indices_are_bad(mode: str, reduction: str) -> None:
    data, weights = make("offsets")
    members = bad_form("offsets")
    ours = lambda d, w: gsj.gather_reduce(d, weights=w, **members, reduction=reduction, mode=mode)  # noqa: E731
    theirs = lambda d, w: plain("offsets", d, w, reduction, mode=mode, **members)  # noqa: E731
    np.testing.assert_allclose(ours(data, weights), theirs(data, weights), rtol=1e-12)
    expected = jax.jit(jax.jacrev(theirs, (0, 1)))(data, weights)
    for got, true in zip(jax.jacrev(ours, (0, 1))(data, weights), expected, strict=True):
        np.testing.assert_allclose(got, true, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "mean"])
def test_hessians_are_those_of_jax(reduction: str) -> None:
    data, weights = make("segment_ids")
    ours = lambda d, w: gsj.gather_reduce(d, weights=w, **FORMS["segment_ids"], reduction=reduction)  # noqa: E731
    theirs = lambda d, w: plain("segment_ids", d, w, reduction)  # noqa: E731
    # These run compiled. The second derivatives in the test by differences are not compiled.
    twice = lambda how: jax.jit(jax.jacrev(jax.grad(lambda d, w: (how(d, w) ** 3).sum(), (0, 1)), (0, 1)))  # noqa: E731
    expected = jax.tree.leaves(twice(theirs)(data, weights))
    for got, true in zip(jax.tree.leaves(twice(ours)(data, weights)), expected, strict=True):
        np.testing.assert_allclose(got, true, rtol=1e-10, atol=1e-10)


def test_the_sum_is_segment_sum() -> None:
    rng = np.random.default_rng(7)
    table, weights = jnp.asarray(rng.random((50, 4), np.float32)), jnp.asarray(rng.random(200, np.float32))
    rows, ids = rng.integers(0, 50, 200), rng.integers(0, 20, 200)
    ours = lambda t, w: gsj.gather_reduce(t, rows, segment_ids=ids, num_segments=20, weights=w)  # noqa: E731
    theirs = lambda t, w: jax.ops.segment_sum(t[rows] * w[:, np.newaxis], ids, 20)  # noqa: E731
    np.testing.assert_allclose(ours(table, weights), theirs(table, weights), rtol=1e-5)
    for argument in (0, 1):
        loss = lambda how, argument=argument: jax.jit(jax.grad(lambda t, w: (how(t, w) ** 2).sum(), argument))  # noqa: E731
        np.testing.assert_allclose(loss(ours)(table, weights), loss(theirs)(table, weights), rtol=1e-4)


@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize("compiled", [False, True])
def test_equal_members_share_the_gradient(reduction: str, compiled: bool) -> None:
    call = lambda data: gsj.gather_reduce(data, [[0, 1, 0, 2]], reduction=reduction)[0]  # noqa: E731
    gradient = jax.jit(jax.grad(call)) if compiled else jax.grad(call)
    far = 9.0 if reduction == "min" else -9.0
    np.testing.assert_allclose(gradient(jnp.array([1.0, 1.0, far])), [2 / 3, 1 / 3, 0])
    nan = float("nan")
    np.testing.assert_allclose(gradient(jnp.array([1.0, nan, nan])), [0, 0.5, 0.5])


@pytest.mark.parametrize("reduction", ["min", "max", "mul"])
def test_gradients_of_products_of_halves_are_the_same_compiled(reduction: str) -> None:
    """XLA may compute halves with more bits. A product that is not rounded would not equal any extreme."""
    rng = np.random.default_rng(8)
    data, weights = (jnp.asarray(rng.uniform(1, 2, shape)).astype("bfloat16") for shape in ((6, 3), (2, 3)))
    indices = np.array([[0, 1, 2], [3, 4, 5]])
    call = lambda data, weights: gsj.gather_reduce(data, indices, weights=weights, reduction=reduction)  # noqa: E731
    gradient = jax.grad(lambda data, weights: call(data, weights).astype(float).sum())
    compiled = jax.jit(gradient)(data, weights).astype(float)
    assert compiled.tolist() == gradient(data, weights).astype(float).tolist()
    if reduction != "mul":  # one member is chosen in each bag and column, or several share the gradient
        per_bag = (compiled / weights.reshape(6, 1).astype(float)).reshape(2, 3, 3).sum(1)
        np.testing.assert_allclose(per_bag, np.ones((2, 3)), rtol=1e-2)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("zeros", [(0,), (0, 1), (2,), (0, 1, 2)])
def test_products_with_zeros(zeros: tuple[int, ...]) -> None:
    """A product is a polynomial, so finite differences are right even where factors are zero."""
    data = np.array([2.0, 3.0, 5.0])
    data[list(zeros)] = 0
    call = lambda data: jnp.sin(gsj.gather_reduce(data, [[0, 1], [1, 2]], reduction="mul"))  # noqa: E731
    check_grads(call, (data,), order=2, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-4)


@pytest.mark.parametrize("mode", ["raise", "fill"])
def test_a_sum_of_many_halves_goes_on(mode: str) -> None:
    call = lambda table: gsj.gather_reduce(table, np.zeros((5000, 1), int), mode=mode).astype(float).sum()  # noqa: E731
    for function in (jax.grad(call), jax.jit(jax.grad(call))):
        assert function(jnp.zeros(2, "bfloat16")).astype(float).tolist() == [float(jnp.bfloat16(5000)), 0]


def test_the_mean_of_a_bag_with_more_members_than_a_half_can_count() -> None:
    call = lambda table: gsj.gather_reduce(table, [[0] * 70_000 + [1]], reduction="mean")[0]  # noqa: E731
    gradient = jax.jit(jax.grad(call))(jnp.zeros(2, "float16"))
    np.testing.assert_allclose(gradient.astype(float), [1, 1 / 70_001], rtol=2e-2)


def test_what_takes_no_part_does_no_harm() -> None:
    bad = jnp.array([float("inf"), 1.0])
    for reduction, expected in (("add", 5), ("mean", 2.5), ("max", 5)):
        call = lambda weights, how=reduction: gsj.gather_reduce(  # noqa: E731
            bad, [[1, 9]], weights=weights, mode="fill", reduction=how
        )[0]
        assert jax.jit(jax.grad(call))(jnp.array([[1.0, 2.0]])).tolist() == [[expected / 5, 0]], reduction
    # The cotangent of the unused bag is infinite, and must not reach any row.
    pull = jax.vjp(lambda data: gsj.gather_reduce(data, [1], segment_ids=[0], num_segments=2), bad)[1]
    assert pull(jnp.array([3.0, jnp.inf]))[0].tolist() == [0, 3]
    pull = jax.vjp(lambda data: gsj.gather_reduce(data, [[1], [7]], mode="fill"), bad)[1]
    assert pull(jnp.array([3.0, jnp.inf]))[0].tolist() == [0, 3]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_default_has_no_gradient(reduction: str) -> None:
    call = lambda default: gsj.gather_reduce(  # noqa: E731
        jnp.ones(3), [0, 1], offsets=[0, 2], default=default, reduction=reduction
    )
    for default in (2.0, jnp.array(2.0)):
        result, pull = jax.vjp(jax.jit(call), default)
        assert result.tolist()[1] == 2
        assert pull(jnp.ones(2))[0] == 0


def test_integers_have_no_gradient() -> None:
    data = jnp.array([1, 2])
    assert jax.jit(jax.grad(lambda w: (gsj.gather_reduce(data, [[0, 1]]) * w).sum()))(2.0) == 3
    for reduction in REDUCTIONS:
        result, pull = jax.vjp(lambda data, how=reduction: gsj.gather_reduce(data, [[0, 1]], reduction=how), data)
        assert pull(np.zeros(result.shape, jax.dtypes.float0))[0].dtype == jax.dtypes.float0
    _, pull = jax.vjp(gsj.gather_reduce, jnp.ones(2), jnp.array([[0, 1]]))
    assert pull(jnp.ones(1))[1].dtype == jax.dtypes.float0
    with pytest.raises(TypeError, match=r"no derivatives in forward mode.*jax\.jacrev"):
        jax.jvp(lambda data: gsj.gather_reduce(data, [[0]]), (jnp.ones(2),), (jnp.ones(2),))


# -------------------------------------------------------------------------------------------------------------- vmap

BATCH = 3
VMAPS = [
    (form, batched)
    for form in FORMS
    for names in [[*(name for name in FORMS[form] if name != "num_segments"), "data", "weights", "default"]]
    for size in (1, 2, len(names))
    for batched in itertools.combinations(names, size)
]


def batch(form: str, names: tuple[str, ...], dtype: Any = np.float32) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays, the named ones with a batch dimension, and the static arguments."""
    rng = np.random.default_rng(9)
    data, weights = make(form, dtype)
    given = dict(FORMS[form])
    static = {"num_segments": given.pop("num_segments")} if "num_segments" in given else {}
    arrays = {**given, "data": np.asarray(data), "weights": np.asarray(weights), "default": np.asarray(7, dtype)}
    for name in names:
        one = arrays[name]
        if name == "offsets":
            arrays[name] = np.array([[0, 3, 3], [0, 0, 5], [0, 1, 4]])
        elif name == "indptr":
            arrays[name] = np.array([[0, 3, 3, 8], [0, 0, 5, 8], [0, 1, 4, 8]])
        else:
            arrays[name] = np.stack([rng.permuted(one, axis=None) if one.ndim else one + i for i in range(BATCH)])
    return arrays, static


@pytest.mark.parametrize(("form", "batched"), VMAPS)
def test_vmap_is_a_loop(form: str, batched: tuple[str, ...]) -> None:
    arrays, static = batch(form, batched)
    reduction = REDUCTIONS[len(form) % 5]
    entries = [{n: a[i] if n in batched else a for n, a in arrays.items()} for i in range(BATCH)]
    expected = np.stack([gs.gather_reduce(**entry, **static, reduction=reduction) for entry in entries])
    axes = {name: 0 if name in batched else None for name in arrays}
    mapped = jax.vmap(lambda a: gsj.gather_reduce(**a, **static, reduction=reduction), in_axes=(axes,))
    given = {name: jnp.asarray(array) for name, array in arrays.items()}
    check_result(mapped(given), expected)
    check_result(jax.jit(mapped)(given), expected)


def test_vmap_of_bags_is_one_call() -> None:
    """The program has one call of the kernel, or one callback, with all members of the batch."""
    call = lambda rows, weights: gsj.gather_reduce(jnp.ones((9, 2)), rows, weights=weights)  # noqa: E731
    rows, weights = np.zeros((50, 40, 3, 2), int), np.ones((50, 3, 2), np.float32)
    batch = jax.vmap(jax.vmap(call, (0, None)))
    assert batch(rows, weights).shape == (50, 40, 3, 2)
    program = jax.jit(batch).lower(rows, weights).as_text()
    assert len(re.findall(r"custom_call.*(gatherscatter_bags|python_cpu_callback)", program)) == 1
    assert "50x40x3x2xi32" in program


def test_vmap_of_vmap_and_over_other_axes() -> None:
    rng = np.random.default_rng(10)
    data, ids = rng.random((4, 6, 2), np.float32), rng.integers(0, 3, (5, 6))
    call = partial(gsj.gather_reduce, num_segments=3, reduction="mean")
    one = lambda data, ids: call(data, segment_ids=ids)  # noqa: E731
    outer = jax.vmap(jax.vmap(one, in_axes=(2, None)), in_axes=(None, 0), out_axes=1)
    got = outer(np.moveaxis(data, 0, 2), ids)
    expected = np.stack(
        [np.stack([gs.gather_reduce(data[i], segment_ids=s, num_segments=3, reduction="mean") for i in range(4)])
         for s in ids], axis=1,
    )  # fmt: skip
    check_result(got, expected)
    assert jax.vmap(one)(data[:0, :, :], ids[:0]).shape == (0, 3, 2)


@pytest.mark.full
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", ["add", "max", "mul", "mean"])
@pytest.mark.parametrize("form", ["indices", "offsets", "indptr", "segment_ids"])
def test_vmap_of_gradients(form: str, reduction: str) -> None:
    names = tuple(name for name in (*FORMS[form], "data", "weights") if name != "num_segments")
    arrays, static = batch(form, names, np.float64)
    members = {name: array for name, array in arrays.items() if name not in ("data", "weights")}

    def loss(data: Any, weights: Any, members: Any) -> Any:
        result = gsj.gather_reduce(data, weights=weights, **members, **static, reduction=reduction)
        return (jnp.sin(result) * jnp.arange(1, result.size + 1).reshape(result.shape)).sum()

    both = jax.grad(loss, (0, 1))
    axes = (0, 0, {name: 0 if name in names else None for name in members})
    for mapped in (jax.vmap(both, axes), jax.jit(jax.vmap(both, axes))):
        got = mapped(arrays["data"], arrays["weights"], members)
        for i in range(BATCH):
            entry = {name: array[i] if name in names else array for name, array in members.items()}
            for many, one in zip(got, both(arrays["data"][i], arrays["weights"][i], entry), strict=True):
                np.testing.assert_allclose(many[i], one, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("form", ["indices", "offsets", "indptr", "segment_ids"])
def test_vmap_of_gradients_of_extrema(form: str) -> None:
    """Rows of whole numbers have ties."""
    arrays, static = batch(form, (*(name for name in FORMS[form] if name != "num_segments"), "data"), np.float64)
    arrays = {name: array for name, array in arrays.items() if name not in ("weights", "default")}
    arrays["data"] = np.round(arrays["data"])

    def pull(data: Any, members: Any) -> Any:
        call = lambda data: gsj.gather_reduce(data, **members, **static, reduction="max")  # noqa: E731
        result, pulled = jax.vjp(call, data)
        return pulled(jnp.arange(1.0, result.size + 1).reshape(result.shape))[0]

    data, members = arrays.pop("data"), arrays
    expected = [pull(data[i], {name: array[i] for name, array in members.items()}) for i in range(BATCH)]
    for mapped in (jax.vmap(pull), jax.jit(jax.vmap(pull))):
        np.testing.assert_allclose(mapped(data, members), np.stack(expected), rtol=1e-12)


def test_gradients_store_no_row_for_each_member() -> None:
    """No value in their programs is as large as the rows of all members."""
    data, rows, weights = jnp.ones((10, 50)), jnp.zeros((20, 30), int), jnp.ones((20, 30))
    for reduction, given in (("add", weights), ("mean", weights), ("min", None), ("max", None)):
        loss = lambda d, w, how=reduction: gsj.gather_reduce(d, rows, weights=w, reduction=how).sum()  # noqa: E731
        program = jax.make_jaxpr(jax.grad(loss, (0, 1) if given is not None else 0))(data, given)
        assert max(find_sizes(program.jaxpr)) < 20 * 30 * 50
    assert max(find_sizes(jax.make_jaxpr(lambda d: d[rows])(data).jaxpr)) == 20 * 30 * 50


def find_sizes(program: Any) -> Iterator[int]:
    """Return the number of elements of each value in a program, including nested programs."""
    for step in program.eqns:
        yield from (value.aval.size for value in step.outvars)
        for parameter in step.params.values():
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from find_sizes(inner)


# ------------------------------------------------------------------------------------------------------------ errors

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no bags": ({"indices": [0, 1]}, "define the bags in exactly one way"),
    "two ways": ({"indices": [[0]], "offsets": [0]}, "given: indices of 2 dimensions and offsets"),
    "offsets rank": ({"indices": [0, 1], "offsets": [[0]]}, "offsets must have one dimension"),
    "no offsets": ({"indices": [0, 1], "offsets": []}, "they would be in no bag"),
    "segment shape": ({"indices": [0, 1], "segment_ids": [0]}, r"segment_ids has shape \(1,\), but must have \(2,\)"),
    "negative": ({"segment_ids": [0, 0, 0], "num_segments": -1}, "num_segments must be at least 0"),
    "no integer": ({"segment_ids": [0, 0, 0], "num_segments": 1.0}, "num_segments must be an integer, not 1.0"),
    "alone": ({"indices": [[0]], "num_segments": 1}, "num_segments is allowed only with segment_ids"),
    "weights shape": ({"indices": [[0]], "weights": [1.0, 2.0]}, r"weights has shape \(2,\), but must have \(1, 1\)"),
    "weights type": ({"indices": [[0]], "weights": [[1j]]}, "weights of type complex128 can't be stored"),
    "float indices": ({"indices": [[0.5]]}, "indices must be integers, not float64"),
    "float ids": ({"segment_ids": [0.5, 0, 0]}, "segment_ids must be integers, not float64"),
    "default": ({"indices": [[0]], "default": [1, 2, 3]}, "default must be a scalar"),
    "reduction": ({"indices": [[0]], "reduction": "sub"}, "reduction must be one of 'add', 'mul'"),
    "no word": ({"indices": [[0]], "reduction": ["add"]}, "reduction must be one of 'add', 'mul'"),
    "mode": ({"indices": [[0]], "mode": "drop"}, "mode must be one of"),
    "accumulate": ({"indices": [[0]], "accumulate": "double"}, "accumulate must be one of"),
    "exact": ({"indices": [[0]], "reduction": "mul", "accumulate": "exact"}, "accumulate='exact' is not defined"),
    "threads": ({"indices": [[0]], "num_threads": 0}, "num_threads must be at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_refused_eagerly_and_while_traced(fault: str) -> None:
    arguments, text = WRONG[fault]
    call = lambda data: gsj.gather_reduce(data, **arguments)  # noqa: E731
    data = jnp.zeros((3, 2))
    for function in (call, jax.jit(call), jax.grad(lambda d: call(d).sum()), jax.vmap(lambda d: call(d + data))):
        with pytest.raises((OpTypeError, OpValueError), match=f"gather_reduce: .*{text}"):
            function(data)
    scalar = lambda x: gsj.gather_reduce(x, [[0]])  # noqa: E731
    for function in (scalar, jax.jit(scalar)):
        with pytest.raises(OpValueError, match="data must have at least one dimension"):
            function(jnp.array(1.0))


BAD_VALUES: dict[str, tuple[type[Exception], dict[str, Any], str]] = {
    "index": (OpIndexError, {"indices": [[0, 1], [1, 5]]}, r"indices\[1, 1\] = 5 is out of range for axis 0 of data"),
    "offset": (OpIndexError, {"offsets": [0, 4]}, r"offsets\[1\] = 4 is out of range for 3 members"),
    "descent": (OpValueError, {"offsets": [0, 2, 1]}, r"offsets must not decrease, but offsets\[2\] = 1 comes after 2"),
    "first offset": (OpValueError, {"offsets": [1, 2]}, "offsets must begin with 0, not 1"),
    "pointer": (OpIndexError, {"indptr": [0, 4, 3]}, r"indptr\[1\] = 4 is out of range for 3 members"),
    "end": (OpValueError, {"indptr": [0, 1, 2]}, "indptr must end with 3, the number of members, not 2"),
    "first pointer": (OpValueError, {"indptr": [1, 3]}, "indptr must begin with 0, not 1"),
    "segment": (OpIndexError, {"segment_ids": [0, 2, 1]}, r"segment_ids\[1\] = 2 is out of range for 2 segments"),
    "negative segment": (OpIndexError, {"segment_ids": [0, -1, 1]}, r"segment_ids\[1\] = -1 is out of range for 2 seg"),
}


@pytest.mark.parametrize("reduction", ["add", "mean", "max"])
@pytest.mark.parametrize("fault", BAD_VALUES)
def test_bad_values_in_every_way(fault: str, reduction: str) -> None:
    kind, members, text = BAD_VALUES[fault]
    static = {"num_segments": 2} if "segment_ids" in members else {}
    arrays = {name: np.array(value) for name, value in members.items()}
    call = lambda data, arrays: gsj.gather_reduce(data, **arrays, **static, reduction=reduction)  # noqa: E731
    data = jnp.ones(3)
    for function in (call, jax.grad(lambda d, a: call(d, a).sum())):
        with pytest.raises(kind, match=f"gather_reduce: {text}"):
            function(data, arrays)
    # The gradient of a sum does not need the result, so XLA omits it. The gradient checks the values itself.
    weighted = lambda w, a: gsj.gather_reduce(data, **a, **static, reduction=reduction, weights=w).sum()  # noqa: E731
    weights = jnp.ones(arrays["indices"].shape if "indices" in arrays else 3)
    for function, given in (
        (jax.jit(call), data),
        (jax.jit(jax.grad(lambda d, a: call(d, a).sum())), data),
        (jax.jit(jax.grad(weighted)), weights),
    ):
        with pytest.raises(FAILED, match=f"gather_reduce: {text}"):
            jax.block_until_ready(function(given, arrays))


def test_bad_values_of_a_batch() -> None:
    data = jnp.ones(3)
    with pytest.raises(FAILED, match=r"indices\[1, 0, 1\] = 7 is out of range"):
        jax.block_until_ready(jax.jit(jax.vmap(gsj.gather_reduce, (None, 0)))(data, np.array([[[0, 1]], [[1, 7]]])))
    in_segments = lambda ids: gsj.gather_reduce(data, segment_ids=ids, num_segments=2)  # noqa: E731
    with pytest.raises(OpIndexError, match=r"segment_ids\[2\] = 4 is out of range"):
        jax.vmap(in_segments)(np.array([[0, 1, 0], [0, 1, 4]]))


def test_a_program_goes_on_after_an_error() -> None:
    call = jax.jit(gsj.gather_reduce)
    for _ in range(3):
        with pytest.raises(FAILED):
            jax.block_until_ready(call(jnp.zeros(3), jnp.array([[7]])))
        assert call(jnp.ones(3), jnp.array([[1, 2]])).tolist() == [2]


def test_values_that_jax_would_cut_to_32_bits() -> None:
    big = 2**40
    assert gsj.gather_reduce(jnp.arange(3.0), np.array([[1, big]]), mode="clip").tolist() == [3]
    cut = [
        (lambda data: gsj.gather_reduce(data, np.array([[big]])), "indices"),
        (lambda data: gsj.gather_reduce(data, offsets=[0, big]), "offsets"),
        (lambda data: gsj.gather_reduce(data, segment_ids=[0, 0, big], num_segments=1), "segment_ids"),
    ]
    for call, name in cut:
        with pytest.raises(OpValueError, match=f"{big} in {name} of type int64 does not fit in int32"):
            jax.jit(call)(jnp.zeros(3))
    listed = jax.jit(lambda a: gsj.gather_reduce([a, a + 1], [[0, 1]], weights=[[a, 2]]))(3.0)
    assert listed.tolist() == [17]


def test_weights_take_the_type_of_data() -> None:
    data = jnp.ones(3)
    for wrap in (lambda f: f, jax.jit):
        assert wrap(lambda w: gsj.gather_reduce(data, [[0, 1]], weights=w))(jnp.array([[2, 3]])).tolist() == [5]
        with pytest.raises(OpTypeError, match="weights of type float32 can't be stored in data of type int32"):
            wrap(lambda w: gsj.gather_reduce(jnp.ones(3, int), [[0]], weights=w))(jnp.array([[2.0]]))


def test_an_error_names_the_segment_id_that_makes_the_result_too_large() -> None:
    with pytest.raises(gs.OpMemoryError, match=r"segment_ids\[2\] = 1000000000000 decides its size"):
        gsj.gather_reduce(jnp.ones((4, 2)), segment_ids=np.array([0, 3, 10**12, 1]))
