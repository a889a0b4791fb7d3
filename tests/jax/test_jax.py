"""The functions of gatherscatter.jax: results and errors of the array functions, jit, vmap and gradients."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import oracle
from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError
from gatherscatter_conformance.random_calls import Traits
from tests.support.judge import outcome
from tests.support.strategies import kernel_calls

jax: Any = pytest.importorskip("jax")
jnp: Any = jax.numpy
gsj: Any = pytest.importorskip("gatherscatter.jax")
ffi: Any = pytest.importorskip("gatherscatter.jax.ffi")
check_grads = pytest.importorskip("jax.test_util").check_grads

# The tests cover both ways to call the kernels. A core that was built without jax.ffi warns about the slower one.
pytestmark = pytest.mark.filterwarnings("ignore:.*every call in a compiled JAX program")

GATHERS = ("gather", "gather_elements", "gather_nd")
SCATTERS = ("scatter_update", "scatter_elements", "scatter_nd")
TYPES = ("bool", *oracle.INTEGERS, *oracle.FLOATS, *oracle.COMPLEX)
FAILED = (jax.errors.JaxRuntimeError, ValueError)  # JAX decides which one is raised
INT_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


# ------------------------------------------------------------------------------------ results, eagerly and compiled


@st.composite
def calls(draw: Callable, kernel: str) -> tuple[list, dict]:
    traits = Traits(kernel, draw(st.sampled_from(TYPES)), draw(st.sampled_from(INT_TYPES)))
    inputs, options = draw(kernel_calls(traits))
    options["mode"] = draw(st.sampled_from(["raise", "wrap", "clip", "fill" if kernel in GATHERS else "drop"]))
    if kernel in SCATTERS:
        reductions = [r for r in oracle.REDUCTIONS if oracle.is_reducible(r, oracle.element_type(inputs[0].dtype))]
        options["reduction"] = draw(st.sampled_from(reductions))
        options["include_self"] = options["reduction"] == "none" or draw(st.booleans())
    return inputs, options


def compiled(kernel: str, inputs: list, options: dict) -> Any:
    return jax.block_until_ready(jax.jit(partial(getattr(gsj, kernel), **options))(*inputs))


def check_result(result: Any, expected: np.ndarray) -> None:
    assert isinstance(result, jax.Array)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert np.asarray(result).tobytes() == expected.tobytes()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", GATHERS + SCATTERS)
@settings(max_examples=20)
@given(data=st.data())
def test_the_bits_of_the_array_functions(kernel: str, data: Any) -> None:
    inputs, options = data.draw(calls(kernel))
    on_jax = [jnp.asarray(array.astype(array.dtype.newbyteorder("="), order="C")) for array in inputs]
    expected = outcome(getattr(gs, kernel), *inputs, **options)
    if isinstance(expected, Exception):
        with pytest.raises(OpIndexError) as eager:
            getattr(gsj, kernel)(*on_jax, **options)
        assert vars(eager.value) == vars(expected)
        if jax.eval_shape(partial(getattr(gsj, kernel), **options), *on_jax).size:  # otherwise XLA does not compute it
            with pytest.raises(FAILED) as failed:
                compiled(kernel, on_jax, options)
            assert str(expected) in str(failed.value)
        return
    expected = expected.astype(expected.dtype.newbyteorder("="))
    for arrays in (inputs, on_jax):
        check_result(getattr(gsj, kernel)(*arrays, **options), expected)
    check_result(compiled(kernel, on_jax, options), expected)


def test_subnormal_numbers_are_numbers() -> None:
    """XLA lets processors flush subnormal numbers to zero, and this must not change results."""
    least = np.finfo(np.float32).smallest_subnormal
    total = compiled("scatter_update", [np.full(1, least), [0], np.full(1, least)], {"reduction": "add"})
    assert np.asarray(total)[0] == 2 * least


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_types_that_are_only_moved(name: str) -> None:
    data = jnp.arange(6.0).astype(name)
    assert jax.jit(gsj.gather)(data, jnp.array([5, 1])).astype(float).tolist() == [5, 1]
    with pytest.raises(OpTypeError, match=f"reduction 'add' is not defined for elements of type {name}"):
        jax.jit(partial(gsj.scatter_update, reduction="add"))(data, jnp.array([0]), data[:1])


def test_large_arrays_on_several_threads() -> None:
    rng = np.random.default_rng(5)
    data, rows = rng.random((50_000, 32), np.float32), rng.integers(-50_000, 50_000, 30_000)
    updates = rng.random((30_000, 32), np.float32)
    check_result(compiled("gather", [data, rows], {}), gs.gather(data, rows))
    options = {"reduction": "add"}
    check_result(
        compiled("scatter_update", [data, rows, updates], options),
        gs.scatter_update(data, rows, updates, reduction="add"),
    )


def test_the_number_of_threads_reaches_the_kernel() -> None:
    program = jax.jit(partial(gsj.gather, num_threads=7)).lower(jnp.zeros(3), jnp.array([0])).as_text()
    assert "num_threads = 7" in program or not ffi.is_available()


def test_a_scatter_writes_to_memory_that_nobody_needs_any_more() -> None:
    cache = jnp.zeros((64, 8))

    @partial(jax.jit, donate_argnums=0)
    def append(cache: Any, position: Any, row: Any) -> Any:
        return gsj.scatter_update(cache, position, row)

    address = cache.unsafe_buffer_pointer()
    written = append(cache, jnp.array([3]), jnp.ones((1, 8)))
    assert cache.is_deleted()
    assert np.asarray(written).sum() == 8
    if ffi.is_available():
        assert written.unsafe_buffer_pointer() == address
        shapes = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in (((64, 8), float), ((1,), int), ((1, 8), float))]
        assert "copy(" not in append.lower(*shapes).compile().as_text()


def test_data_that_are_needed_again_stay_as_they_are() -> None:
    def both(data: Any) -> Any:
        return gsj.scatter_update(data, [0], jnp.ones(1)), gsj.scatter_update(data, [1], jnp.ones(1)), data

    data = jnp.zeros(3)
    first, second, same = jax.jit(both)(data)
    assert [array.tolist() for array in (first, second, same, data)] == [[1, 0, 0], [0, 1, 0], [0] * 3, [0] * 3]


def test_in_loops_of_a_program() -> None:
    def step(carry: Any, i: Any) -> tuple[Any, Any]:
        carry = gsj.scatter_nd(carry, i.reshape(1, 1), jnp.ones(1), reduction="add")
        return carry, gsj.gather(carry, i)

    total, seen = jax.lax.scan(step, jnp.zeros(3), jnp.array([0, 2, 2]))
    assert total.tolist() == [1, 0, 2]
    assert seen.tolist() == [1, 1, 2]


# -------------------------------------------------------------------------------------------------------------- vmap

BATCH = 3
# Data, indices, updates (None for gathers), options. The shapes are those of one entry of the batch.
CASES: dict[str, tuple] = {
    "gather": ((4, 5), (2, 3), None, {"axis": 0}),
    "gather, last axis": ((2, 4, 5), (3,), None, {"axis": -1}),
    "gather, batch dims": ((2, 4, 5), (2, 3), None, {"axis": 2, "batch_dims": 1}),
    "gather, batch dims from the end": ((2, 4, 5), (2, 3), None, {"axis": 1, "batch_dims": -1}),
    "gather, scalar": ((4, 5), (), None, {"axis": 1}),
    "gather_elements": ((4, 3, 5), (2, 3, 4), None, {"axis": -1}),
    "gather_elements, first axis": ((4, 3), (6, 2), None, {"axis": 0}),
    "gather_nd": ((4, 5, 2), (3, 2), None, {}),
    "gather_nd, batch dims": ((2, 4, 5), (2, 3, 1), None, {"batch_dims": 1}),
    "gather_nd, empty tuples": ((4, 5), (2, 0), None, {}),
    "scatter_update": ((4, 5), (6,), (6, 5), {"reduction": "add"}),
    "scatter_update, last axis": ((2, 4), (2, 3), (2, 2, 3), {"axis": -1}),
    "scatter_elements": ((4, 3), (6, 2), (6, 2), {"reduction": "mean", "include_self": False}),
    "scatter_elements, last axis": ((3, 4), (2, 6), (2, 6), {"axis": -1}),
    "scatter_nd": ((4, 5), (6, 1), (6, 5), {"reduction": "max"}),
    "scatter_nd, whole": ((4, 5), (3, 2), (3,), {"reduction": "sub"}),
}


def case_arrays(case: str, batched: tuple[bool, ...], dtype: Any = np.float32) -> tuple[str, list, dict]:
    """Return the arrays of a case. Some have a batch dimension, and all indices are valid on every axis."""
    data, indices, updates, options = CASES[case]
    rng = np.random.default_rng(len(case))
    shapes = [(BATCH, *shape) if b else shape for b, shape in zip(batched, (data, indices, updates), strict=False)]
    arrays = [rng.permutation(np.prod(shape, dtype=int)).astype(dtype).reshape(shape) + 0.5 for shape in shapes]
    arrays[1] = rng.integers(-2, 2, shapes[1])
    return case.partition(",")[0], arrays, options


VMAPS = [
    (case, batched)
    for case in CASES
    for batched in itertools.product([False, True], repeat=2 if case.startswith("gather") else 3)
    if any(batched)
]


@pytest.mark.parametrize(("case", "batched"), VMAPS)
def test_vmap_is_a_loop(case: str, batched: tuple[bool, ...]) -> None:
    kernel, arrays, options = case_arrays(case, batched)
    one = partial(getattr(gs, kernel), **options)
    expected = np.stack([one(*(a[i] if b else a for a, b in zip(arrays, batched, strict=True))) for i in range(BATCH)])
    mapped = jax.vmap(partial(getattr(gsj, kernel), **options), [0 if b else None for b in batched])
    check_result(mapped(*map(jnp.asarray, arrays)), expected)
    check_result(jax.jit(mapped)(*map(jnp.asarray, arrays)), expected)


def test_vmap_of_vmap_over_other_axes() -> None:
    data, rows = np.arange(60.0, dtype=np.float32).reshape(4, 5, 3), np.array([[0, 2], [1, 1], [4, 0]])
    outer = jax.vmap(jax.vmap(gsj.gather, in_axes=(1, None)), in_axes=(None, 0), out_axes=2)
    expected = np.stack([np.stack([data[:, i][r % 4] for i in range(5)]) for r in rows % 4], axis=2)
    check_result(outer(data, rows % 4), expected)


def test_vmap_is_one_call() -> None:
    mapped = jax.vmap(partial(gsj.scatter_nd, reduction="add"), (None, 0, 0))
    program = str(jax.make_jaxpr(mapped)(jnp.zeros(4), jnp.zeros((9, 2, 1), int), jnp.ones((9, 2))))
    assert program.count("ffi_call[") + program.count("pure_callback[") == 1
    assert "scan" not in program


# --------------------------------------------------------------------------------------------------------- gradients

REDUCTIONS = [(r, s) for r in oracle.REDUCTIONS for s in (True, False) if s or r != "none"]


def check_both_derivatives(function: Callable, *arrays: Any) -> None:
    check_grads(function, arrays, order=2, modes=["rev"], atol=1e-4, rtol=1e-4, eps=1e-4)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("gather")])
@pytest.mark.parametrize("mode", ["raise", "clip", "fill"])
def test_gradients_of_gathers(case: str, mode: str) -> None:
    kernel, (data, indices), options = case_arrays(case, (False, False), np.float64)
    indices = indices if mode == "raise" else indices * 5
    check_both_derivatives(lambda data: jnp.sin(getattr(gsj, kernel)(data, indices, **options, mode=mode)), data)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("reduction", "include_self"), REDUCTIONS)
@pytest.mark.parametrize("case", ["scatter_update", "scatter_elements", "scatter_nd, whole"])
def test_gradients_of_scatters(case: str, reduction: str, include_self: bool) -> None:
    kernel, (data, indices, updates), options = case_arrays(case, (False,) * 3, np.float64)
    options = {**options, "reduction": reduction, "include_self": include_self}
    check_both_derivatives(
        lambda d, u: jnp.sin(getattr(gsj, kernel)(d, indices, u, **options)), data / 7, updates / 7 + 0.01
    )  # all values differ


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("reduction", oracle.REDUCTIONS)
@pytest.mark.parametrize("mode", ["wrap", "clip", "drop"])
def test_gradients_where_indices_are_bad(reduction: str, mode: str) -> None:
    rows, data, updates = jnp.array([0, 7, -9, 1, 0]), jnp.array([0.5, 1.5, 2.5]), jnp.arange(1.0, 6.0) / 3
    check_both_derivatives(
        lambda d, u: jnp.sin(gsj.scatter_update(d, rows, u, reduction=reduction, mode=mode)), data, updates
    )


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("zeros", [(0,), (1,), (0, 1), (1, 2), (0, 1, 2), (4,)])
@pytest.mark.parametrize("include_self", [True, False])
def test_products_with_zeros(zeros: tuple[int, ...], include_self: bool) -> None:
    """A product is a polynomial, so finite differences are right even where factors are zero."""
    values = np.array([2.0, 3.0, 5.0, 7.0, 11.0])
    values[list(zeros)] = 0

    def product(data: Any, updates: Any) -> Any:
        out = gsj.scatter_update(data, [0, 0, 1], updates, reduction="mul", include_self=include_self)
        return out + out * out

    check_both_derivatives(product, values[[0, 4]], values[1:4])


def test_a_product_without_zeros_by_hand() -> None:
    product = lambda u: gsj.scatter_nd(jnp.array([2.0]), [[0], [0]], u, reduction="mul").sum()  # noqa: E731
    assert jax.grad(product)(jnp.array([3.0, 5.0])).tolist() == [10, 6]
    assert jax.grad(product)(jnp.array([0.0, 5.0])).tolist() == [10, 0]
    assert jax.grad(product)(jnp.array([0.0, 0.0])).tolist() == [0, 0]
    assert jax.jacrev(jax.grad(product))(jnp.array([0.0, 0.0])).tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_what_takes_no_part_in_a_product_does_no_harm(bad: float) -> None:
    multiply = partial(gsj.scatter_update, reduction="mul", mode="drop")
    product = lambda d, u: multiply(d, [0, 7], u)  # noqa: E731
    data, updates = [2.0, bad, 0.0], [3.0, bad]
    assert gradients(product, data, updates) == [[3, 10, 100], [2, 0]]
    curvature = jax.jacrev(jax.grad(lambda d: product(d, jnp.array(updates)).sum()))(jnp.array(data))
    assert curvature.tolist() == np.zeros((3, 3)).tolist()


def gradients(function: Callable, *arrays: Any) -> list:
    """Return the gradients of the sum of the results, weighted by 1, 10, 100, ..."""
    weigh = lambda *arrays: (function(*arrays) * 10.0 ** jnp.arange(3)).sum()  # noqa: E731
    return [g.tolist() for g in jax.grad(weigh, argnums=tuple(range(len(arrays))))(*map(jnp.array, arrays))]


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_equal_contributions_share_the_gradient(reduction: str) -> None:
    take = partial(gsj.scatter_update, reduction=reduction)
    tied = lambda d, u: take(d, [0, 0, 1, 1], u)  # noqa: E731
    far = 9.0 if reduction == "min" else -9.0
    of_data, of_updates = gradients(tied, [2.0, far, 1.0], [2.0, 2.0, 3.0, 3.0])
    assert of_data == pytest.approx([1 / 3, 0, 100])
    assert of_updates == pytest.approx([1 / 3, 1 / 3, 5, 5])
    alone = lambda d, u: take(d, [0, 0, 1, 1], u, include_self=False)  # noqa: E731
    assert gradients(alone, [2.0, far, 1.0], [2.0, 2.0, far, far]) == [[0, 0, 100], [0.5, 0.5, 5, 5]]
    nan = float("nan")
    assert gradients(tied, [1.0, nan, 1.0], [nan, nan, 5.0, nan]) == [[0, 5, 100], [0.5, 0.5, 0, 5]]


@pytest.mark.parametrize("name", ["add", "mul", "min", "max", "set"])
def test_gradients_are_those_of_jax(name: str) -> None:
    """Gradients agree with those of JAX where both are defined in the same way: for unique indices without ties."""
    rng = np.random.default_rng(3)
    data = jnp.asarray(rng.permutation(40).astype(np.float32).reshape(8, 5) + 1)
    updates = jnp.asarray(rng.random((4, 5), np.float32) * 40)
    rows = jnp.array([6, 0, 3, 7])
    ours = lambda d, u: gsj.scatter_update(d, rows, u, reduction="none" if name == "set" else name)  # noqa: E731
    theirs = lambda d, u: getattr(d.at[rows], name)(u, unique_indices=True)  # noqa: E731
    for argument in (0, 1):
        got = jax.jacrev(ours, argument)(data, updates)
        np.testing.assert_allclose(got, jax.jacrev(theirs, argument)(data, updates), rtol=1e-6)


def test_gradients_in_every_combination() -> None:
    table, rows = jnp.arange(6.0).reshape(3, 2), jnp.array([[0, 1], [2, 2]])
    loss = lambda table, rows: (gsj.gather(table, rows) ** 3).sum()  # noqa: E731
    expected = np.zeros((2, 3, 2))
    for i, j in np.ndindex(2, 2):
        expected[i, rows[i, j]] += 3 * np.asarray(table[rows[i, j]]) ** 2
    each = jax.vmap(jax.grad(loss), (None, 0))
    for function in (each, jax.jit(each), jax.vmap(jax.jit(jax.grad(loss)), (None, 0))):
        np.testing.assert_array_equal(function(table, rows), expected)
    value, pull = jax.vjp(gsj.gather, table, rows[0])
    assert pull(value)[1].dtype == jax.dtypes.float0
    np.testing.assert_array_equal(jax.checkpoint(jax.grad(loss))(table, rows[0]), expected[0])
    with pytest.raises(TypeError, match=r"no derivatives in forward mode.*jax\.jacrev"):
        jax.jvp(lambda table: gsj.gather(table, rows), (table,), (table,))


def test_vmap_of_gradients_of_scatters() -> None:
    rng = np.random.default_rng(4)
    data, updates = rng.random((3, 4), np.float32), rng.random((3, 6), np.float32)
    rows = rng.integers(0, 4, (3, 6))
    for reduction in oracle.REDUCTIONS:
        loss = lambda d, r, u, how=reduction: (gsj.scatter_update(d, r, u, reduction=how) ** 2).sum()  # noqa: E731
        both = jax.grad(loss, (0, 2))
        got = jax.jit(jax.vmap(both))(data, rows, updates)
        for i in range(3):
            for batch, one in zip(got, both(data[i], rows[i], updates[i]), strict=True):
                np.testing.assert_allclose(batch[i], one, rtol=1e-6)


def test_integers_have_no_gradient() -> None:
    def loss(weight: Any) -> Any:
        return (gsj.scatter_update(jnp.array([1, 2]), [0], jnp.array([5])) * weight).sum()

    assert jax.jit(jax.grad(loss))(2.0) == 7
    for write in (lambda d: gsj.scatter_update(d, [0], d[:1]), lambda d: gsj.gather(d, [0])):
        result, pull = jax.vjp(write, jnp.array([1, 2]))
        assert pull(np.zeros(result.shape, jax.dtypes.float0))[0].dtype == jax.dtypes.float0


def test_indices_that_depend_on_what_is_differentiated() -> None:
    sort = lambda x: gsj.gather(x, jnp.argsort(x)) @ jnp.array([1.0, 10.0, 100.0])  # noqa: E731
    assert jax.jit(jax.grad(sort))(jnp.array([3.0, 1.0, 2.0])).tolist() == [100, 1, 10]


# ------------------------------------------------------------------------------------------------------------ errors

BAD = {
    OpIndexError: (lambda d: gsj.gather(d, [5]), r"gather: indices\[0\] = 5 is out of range for axis 0"),
    "axis": (lambda d: gsj.gather(d, [0], axis=3), "gather: axis 3 is out of range for data of rank 1"),
    "no integer": (lambda d: gsj.gather(d, [0], axis=0.5), "gather: axis must be an integer, not 0.5"),
    "floats": (lambda d: gsj.gather(d, jnp.array([0.5])), "gather: indices must be integers, not float32"),
    "float list": (lambda d: gsj.gather(d, [0.5]), "gather: indices must be integers, not float64"),
    "shape": (lambda d: gsj.scatter_nd(d, [[0]], d), r"updates has shape \(3,\), but must have \(1,\)"),
    "mode": (lambda d: gsj.gather(d, [0], mode="drop"), "mode must be one of 'raise', 'wrap', 'clip', 'fill'"),
    "reduction": (lambda d: gsj.scatter_update(d, [0], d[:1], reduction="sum"), "reduction must be one of 'none'"),
    "flag": (lambda d: gsj.scatter_update(d, [0], d[:1], include_self="no"), "include_self must be True or False"),
    "threads": (lambda d: gsj.gather(d, [0], num_threads=0), "num_threads must be at least 1, not 0"),
    "type": (
        lambda d: gsj.scatter_update(d, [0], jnp.array([1j])),
        "updates of type complex64 can't be stored in data of type float32",
    ),
    "exact": (
        lambda d: gsj.scatter_update(d, [0], d[:1], reduction="mul", accumulate="exact"),
        "accumulate='exact' is not defined for reduction 'mul'",
    ),
}


@pytest.mark.parametrize("fault", [fault for fault in BAD if fault is not OpIndexError])
def test_what_is_refused_eagerly_and_while_traced(fault: str) -> None:
    call, text = BAD[fault]
    for function in (call, jax.jit(call), jax.grad(lambda d: call(d).sum()), jax.vmap(lambda d: call(d + jnp.ones(3)))):
        with pytest.raises((OpTypeError, OpValueError), match=text):
            function(jnp.zeros(3))


def test_a_bad_index_in_every_way() -> None:
    call, text = BAD[OpIndexError]
    data = jnp.zeros(3)
    for function in (call, jax.grad(lambda d: call(d).sum())):
        with pytest.raises(OpIndexError, match=text) as caught:
            function(data)
        assert (caught.value.positions, caught.value.values, caught.value.allowed) == (((0,),), (5,), (-3, 2))
    for function in (jax.jit(call), jax.jit(jax.grad(lambda d: call(d).sum()))):
        with pytest.raises(FAILED, match=text):
            jax.block_until_ready(function(data))
    with pytest.raises(FAILED, match=r"indices\[2, 1\] = 4 is out of range"):
        jax.block_until_ready(jax.jit(jax.vmap(gsj.gather, (None, 0)))(data, jnp.array([[0, 1], [2, 2], [1, 4]])))
    with pytest.raises(FAILED, match=r"scatter_nd: indices\[1, 0\] = -9 is out of range.*2 of 3 indices"):
        jax.block_until_ready(jax.jit(gsj.scatter_nd)(data, jnp.array([[0], [-9], [8]]), data))


def test_a_program_goes_on_after_an_error() -> None:
    take = jax.jit(gsj.gather)
    for _ in range(3):
        with pytest.raises(FAILED):
            jax.block_until_ready(take(jnp.zeros(3), jnp.array([7])))
        assert take(jnp.ones(3), jnp.array([1])).tolist() == [1]


# ---------------------------------------------------------------------------------------------- 64 bits, switched off

BIG = 2**40 + 1
LOST = {
    "indices": lambda d: gsj.gather(d, np.array([0, BIG])),
    "list": lambda d: gsj.gather(d, [0, BIG]),
    "scatter": lambda d: gsj.scatter_update(d, [BIG], d[:1]),
}


@pytest.mark.parametrize("what", LOST)
def test_indices_that_jax_would_cut_to_32_bits(what: str) -> None:
    with pytest.raises(OpIndexError, match=f"= {BIG} is out of range"):
        LOST[what](jnp.zeros(3))
    with pytest.raises(OpValueError, match=f"{BIG} in indices of type int64 does not fit in int32") as caught:
        jax.jit(LOST[what])(jnp.zeros(3))
    assert 'jax.config.update("jax_enable_x64", True)' in str(caught.value)


def test_indices_that_fit_are_no_matter() -> None:
    assert gsj.gather(jnp.arange(3), np.array([1, BIG]), mode="clip").tolist() == [1, 2]
    assert jax.jit(lambda d: gsj.gather(d, np.array([1, -1])))(jnp.arange(3)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "narrow"),
    [(np.array([1, BIG]), "int32"), (np.array([2**63], np.uint64), "uint32"), (np.array([0.1]), "float32"),
     (np.array([1e300]), "float32"), (np.array([0.1j]), "complex64"), ([BIG], "int32")],
)  # fmt: skip
def test_data_that_jax_would_change(data: Any, narrow: str) -> None:
    for take in (gsj.gather, lambda d, i: jax.jit(lambda i: gsj.gather(d, i))(i)):
        with pytest.raises(OpValueError, match=f"does not fit in {narrow}, to which JAX would convert it"):
            take(data, jnp.array([0]))


def test_data_that_keep_their_values() -> None:
    assert gsj.gather(np.array([7, np.iinfo(np.int32).min]), [1]).tolist() == [-(2**31)]
    assert gsj.gather(np.array([0.5, np.nan]), [0]).dtype == np.float32
    assert gsj.gather([0.1, 0.2], [1]).dtype == np.float32  # Python numbers do not have a type
    assert gsj.gather(np.array([0.1], np.float32), [0]).dtype == np.float32


def test_updates_take_the_type_of_data() -> None:
    data = jnp.zeros(2, jnp.int32)
    assert gsj.scatter_update(data, [0], [7]).tolist() == [7, 0]
    for traced in (False, True):
        wrap = jax.jit if traced else lambda f: f
        with pytest.raises(OpValueError, match=rf"updates\[0\] = {BIG} does not fit in data of type int32"):
            wrap(lambda d: gsj.scatter_update(d, [0], np.array([BIG])))(data)
        with pytest.raises(OpTypeError, match="updates of type float32 can't be stored in data of type int32"):
            wrap(lambda d: gsj.scatter_update(d, [0], jnp.array([1.5])))(data)
        written = wrap(lambda d: gsj.scatter_update(d.astype(float), [0], jnp.array([3])))(data)
        assert written.tolist() == [3, 0]


@pytest.mark.usefixtures("x64")
def test_64_bits_switched_on() -> None:
    big = np.array([BIG, 2**62])
    assert jax.jit(gsj.gather)(big, np.array([1])).tolist() == [2**62]
    with pytest.raises(FAILED, match=f"= {BIG} is out of range"):
        jax.block_until_ready(jax.jit(gsj.gather)(big, np.array([BIG])))


# --------------------------------------------------------------------------------------------- other arrays, fallback


def test_lists_of_jax_values_and_types_that_jax_has_not() -> None:
    assert jax.jit(lambda a, b: gsj.gather([a, b, a], [1, 2]))(1.0, 2.0).tolist() == [2, 1]
    with pytest.raises(OpTypeError, match="data of type <U1 are unknown to JAX"):
        gsj.gather(["a"], [0])
    with pytest.raises(OpTypeError, match="data of type int4 can't be used in traced programs"):
        jax.jit(gsj.gather)(jnp.arange(3).astype("int4"), jnp.array([0]))
    assert gsj.gather(jnp.arange(3).astype("int4"), jnp.array([2])).astype(int).tolist() == [2]


FALLBACK = """
import warnings
import jax, jax.numpy as jnp, numpy as np
import gatherscatter.jax as gsj
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gsj.gather(jnp.zeros(3), [1])
    assert not caught  # nothing is compiled yet
    take = jax.jit(gsj.gather)
    assert take(jnp.arange(3.0), jnp.array([2, 0])).tolist() == [2, 0]
    assert jax.jit(jax.grad(lambda x: gsj.gather(x, [1, 1]).sum()))(jnp.zeros(2)).tolist() == [0, 2]
    assert jax.jit(jax.vmap(gsj.gather))(jnp.eye(2), jnp.array([1, 1])).tolist() == [0, 1]
    big = jnp.zeros(3_000_000).at[2].set(5)
    add = jax.jit(lambda x, i: gsj.scatter_update(x, i, x, reduction="add") + 1)
    assert add(big, jnp.full(3_000_000, 1)).sum() == 3_000_000 + 10
texts = [str(w.message) for w in caught]
assert len(texts) == 1 and "every call in a compiled JAX program calls Python" in texts[0], texts
try:
    take(jnp.zeros(3), jnp.array([0, 9])).block_until_ready()
except (jax.errors.JaxRuntimeError, ValueError) as error:
    print(error)
"""


def test_without_ffi_python_is_called_back() -> None:
    environment = {**os.environ, "GATHERSCATTER_JAX_FFI": "0"}
    done = subprocess.run([sys.executable, "-c", FALLBACK], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "OpIndexError: gather: indices[1] = 9 is out of range for axis 0 of data with size 3" in done.stdout


def test_gradients_of_sharded_programs() -> None:
    """Use two devices. JAX must create them before anything else, so the test runs in a separate process."""
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
import gatherscatter.jax as gsj
from jax.sharding import Mesh, PartitionSpec
halves = PartitionSpec("half")
x, rows = jnp.arange(8.0).reshape(4, 2), jnp.array([3, 0, 0, 1]) % 2
def of(call):
    sharded = jax.shard_map(call, mesh=Mesh(jax.devices(), ("half",)), in_specs=(halves, halves), out_specs=halves)
    return jax.jit(jax.grad(lambda x: sharded(x, rows).sum()))(x).tolist()
assert of(gsj.gather) == of(lambda x, rows: jnp.take(x, rows, axis=0))
for reduction, own in (("add", "add"), ("none", "set"), ("mul", "mul"), ("max", "max")):
    found = of(lambda x, rows: gsj.scatter_update(x, rows, jnp.cos(x), reduction=reduction))
    expected = of(lambda x, rows: getattr(x.at[rows], own)(jnp.cos(x), unique_indices=True))
    assert jnp.allclose(jnp.array(found), jnp.array(expected), atol=1e-6), (reduction, found, expected)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
