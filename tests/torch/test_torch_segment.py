"""gatherscatter.torch.segment: the functions of torch_scatter, compared with loops, PyTorch and the package itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter.errors import OpError, OpIndexError
from tests.support.devices import assert_equal
from tests.support.judge import outcome

torch: Any = pytest.importorskip("torch")
segment: Any = pytest.importorskip("gatherscatter.torch.segment")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, vmap  # noqa: E402

SIZE = 5

# Shape of src, dim, shape of index.
FORMS = [
    ((7,), 0, (7,)),
    ((7, 3), 0, (7,)),
    ((7, 12), 0, (7,)),
    ((3, 7), -1, (7,)),
    ((2, 7, 3), 1, (7,)),
    ((2, 7, 9), 1, (7,)),
    ((2, 7, 3), 1, (2, 7)),
    ((7, 3), 0, (7, 3)),
    ((2, 3, 7), -1, (2, 3, 7)),
    ((0, 3), 0, (0,)),
    ((2, 0), 1, (2, 0)),
]


def example(shape: tuple[int, ...], index_shape: tuple[int, ...], dtype: Any = None) -> tuple[Any, Any]:
    """Return values with many ties, and an index without the last target."""
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))
    src = torch.randint(-3, 4, shape, generator=generator).to(dtype or torch.float64)
    return src, torch.randint(0, SIZE - 1, index_shape, generator=generator)


def distinct(shape: tuple[int, ...], index_shape: tuple[int, ...]) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(3)
    src = torch.randperm(max(torch.Size(shape).numel(), 1), generator=generator)[: torch.Size(shape).numel()]
    return src.reshape(shape).to(torch.float64) / 7 + 0.5, example(shape, index_shape)[1]


def by_loops(src: Any, index: Any, dim: int, reduce: Callable[[Any], Any], empty: float) -> Any:
    """Reduce each lane and each target separately, in order."""
    dim %= src.ndim
    if index.ndim == 1:
        index = index.reshape(*(1,) * dim, -1)
    index = index.reshape(*index.shape, *(1,) * (src.ndim - index.ndim)).expand(src.shape)
    others = (*src.shape[:dim], *src.shape[dim + 1 :])
    size = (torch.Size(others).numel(), src.shape[dim])
    lanes, targets = (each.movedim(dim, -1).reshape(size) for each in (src, index))
    result = [
        [reduce(lane[target == number]) if (target == number).any() else torch.tensor(empty) for number in range(SIZE)]
        for lane, target in zip(lanes, targets, strict=True)
    ]
    flat = torch.stack([torch.stack([each.to(torch.float64) for each in row]) for row in result]) if result else src
    return flat.reshape(*others, SIZE).movedim(-1, dim)


def which(values: Any, best: Any) -> Any:
    return (values == best).nonzero()[0, 0]


REDUCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sum": (lambda values: values.sum(), 0),
    "mul": (lambda values: values.prod(), 1),
    "mean": (lambda values: values.mean(), 0),
    "min": (lambda values: values.min(), 0),
    "max": (lambda values: values.max(), 0),
}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize(("shape", "dim", "index_shape"), FORMS)
def test_a_scatter(shape: Any, dim: int, index_shape: Any, reduce: str) -> None:
    src, index = example(shape, index_shape)
    expected = by_loops(src, index, dim, *REDUCTIONS[reduce])
    found = segment.scatter(src, index, dim, dim_size=SIZE, reduce=reduce)
    torch.testing.assert_close(found, expected)
    own = getattr(segment, f"scatter_{reduce}")(src, index, dim, dim_size=SIZE)
    assert torch.equal(own[0] if isinstance(own, tuple) else own, found)
    # With a gradient, the code takes a different path.
    differentiated = segment.scatter(src.clone().requires_grad_(), index, dim, dim_size=SIZE, reduce=reduce)
    assert torch.equal(differentiated.detach(), found)


@pytest.mark.parametrize("which", ["min", "max"])
@pytest.mark.parametrize(("shape", "dim", "index_shape"), FORMS)
def test_where_an_extremum_is(shape: Any, dim: int, index_shape: Any, which: str) -> None:
    src, index = example(shape, index_shape)
    count = src.shape[dim]
    positions = torch.arange(count).reshape(-1, *(1,) * (src.ndim - 1 - dim % src.ndim)).expand(src.shape)
    # Values and positions in one number. Among equal values, the first position wins.
    sign = 1 if which == "min" else -1
    both = src * 100 + sign * positions
    code = by_loops(both, index, dim, lambda values: values.min() if which == "min" else values.max(), 1e9)
    expected = torch.where(code == 1e9, count, (sign * code) % 100).to(torch.int64)
    values, members = getattr(segment, f"scatter_{which}")(src, index, dim, dim_size=SIZE)
    assert torch.equal(members, expected)
    torch.testing.assert_close(values, by_loops(src, index, dim, *REDUCTIONS[which]))


@pytest.mark.parametrize(("shape", "dim", "index_shape"), FORMS)
def test_several_at_once_are_the_same_as_each(shape: Any, dim: int, index_shape: Any) -> None:
    src, index = example(shape, index_shape)
    names = ("max", "sum", "count", "argmax", "mean", "argmin")
    found = segment.scatter(src, index, dim, dim_size=SIZE, reduce=names)
    top, where = segment.scatter_max(src, index, dim, dim_size=SIZE)
    for name, result in zip(names, found, strict=True):
        if name == "count":
            one = index if index.ndim == 1 else src
            along = 0 if index.ndim == 1 else dim
            assert torch.equal(
                result, segment.scatter_sum(torch.ones_like(one, dtype=torch.int64), index, along, dim_size=SIZE)
            )
        elif name == "argmin":
            assert torch.equal(result, segment.scatter_min(src, index, dim, dim_size=SIZE)[1])
        else:
            expected = {"max": top, "argmax": where}.get(name)
            if expected is None:
                expected = segment.scatter(src, index, dim, dim_size=SIZE, reduce=name)
            torch.testing.assert_close(result, expected)


@pytest.mark.full
@pytest.mark.parametrize(("shape", "dim", "index_shape"), FORMS[:9])
def test_gradients(shape: Any, dim: int, index_shape: Any) -> None:
    src, index = distinct(shape, index_shape)

    def check(function: Callable[..., Any]) -> None:
        inputs = (src.clone().requires_grad_(),)
        assert gradcheck(function, inputs)
        assert gradgradcheck(function, inputs)

    for reduce in REDUCTIONS:
        check(lambda src, reduce=reduce: segment.scatter(src, index, dim, dim_size=SIZE, reduce=reduce))
    check(
        lambda src: segment.scatter(
            src, index, dim, dim_size=SIZE, reduce=("sum", "min", "count", "mean", "argmax", "max")
        )[::3]
    )
    check(lambda src: segment.scatter_softmax(src, index, dim))
    check(lambda src: segment.scatter_log_softmax(src, index, dim))
    check(lambda src: segment.scatter_logsumexp(src, index, dim, dim_size=SIZE))


def test_the_gradient_of_an_extremum_goes_to_the_first() -> None:
    for width in (1, 9):
        src = torch.ones(3, width, requires_grad=True)
        segment.scatter(src, torch.tensor([0, 0, 0]), 0, reduce="max").sum().backward()
        assert src.grad.tolist() == [[1.0] * width, [0.0] * width, [0.0] * width]


@pytest.mark.parametrize("width", [1, 9])
def test_nan_is_least_and_greatest_and_the_first_one_counts(width: int) -> None:
    src = torch.tensor([1.0, torch.nan, 3.0, torch.nan]).reshape(-1, 1).expand(4, width)
    for name in ("min", "max"):
        values, members = getattr(segment, f"scatter_{name}")(src, torch.zeros(4, dtype=torch.int64), 0)
        assert values.isnan().all()
        assert members.tolist() == [[1] * width]


def test_out_is_what_it_begins_with() -> None:
    src, index = torch.tensor([1.0, 5.0, 2.0]), torch.tensor([0, 0, 2])
    out = torch.tensor([3.0, 7.0, 2.0])
    for name, expected in (("sum", [9, 7, 4]), ("mul", [15, 7, 4]), ("mean", [4.5, 7, 4]), ("max", [5, 7, 2])):
        own = out.clone()
        assert segment.scatter(src, index, 0, own, reduce=name) is own
        assert own.tolist() == expected
    values, members = segment.scatter_min(src, index, 0, out.clone())
    assert values.tolist() == [1, 7, 2]
    assert members.tolist() == [0, 3, 3]
    whole = segment.scatter_logsumexp(src, index, 0, out.clone())
    torch.testing.assert_close(whole[0], torch.tensor([3.0, 1.0, 5.0]).logsumexp(0))
    torch.testing.assert_close(whole[1:], torch.stack([out[1], torch.tensor([2.0, 2.0]).logsumexp(0)]))


@pytest.mark.parametrize("unbiased", [True, False])
def test_std_is_that_of_pytorch(unbiased: bool) -> None:
    src, index = example((9, 2), (9,))
    index = torch.tensor([0, 1, 0, 2, 2, 2, 0, 3, 2])
    found = segment.scatter_std(src, index, 0, dim_size=SIZE, unbiased=unbiased)
    expected = by_loops(
        src, index, 0, lambda values: values.std(correction=int(unbiased)) if len(values) > 1 else torch.tensor(0.0), 0
    )
    torch.testing.assert_close(found, expected)
    same = torch.ones(3, requires_grad=True)
    segment.scatter_std(same, torch.tensor([0, 0, 1])).sum().backward()
    assert same.grad.tolist() == [0, 0, 0]


def test_softmax_and_its_like_are_those_of_pytorch_in_each_target() -> None:
    src, index = example((2, 9), (2, 9))
    src[0, :2] = torch.tensor([1000.0, -1000.0])
    soft, log = segment.scatter_softmax(src, index), segment.scatter_log_softmax(src, index)
    total = segment.scatter_logsumexp(src, index, dim_size=SIZE)
    for lane in range(2):
        for target in range(SIZE):
            here = index[lane] == target
            torch.testing.assert_close(soft[lane, here], src[lane, here].softmax(0))
            torch.testing.assert_close(log[lane, here], src[lane, here].log_softmax(0))
            if here.any():
                torch.testing.assert_close(total[lane, target], src[lane, here].logsumexp(0))
            else:
                assert total[lane, target] == 0
    with pytest.raises(TypeError, match="src must be floats"):
        segment.scatter_softmax(src.to(torch.int64), index)


# ---------------------------------------------------------------------------------------------------------- segments

POINTERS = torch.tensor([1, 3, 3, 6, 8])  # the first and the last of nine are in no segment


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("rest", [(), (3,), (12,)])
def test_segments_by_pointers(rest: tuple[int, ...], reduce: str) -> None:
    src, _ = example((9, *rest), (9,))
    reducer = {"min": "amin", "max": "amax"}.get(reduce, reduce)
    rows = [src[first:last] for first, last in itertools.pairwise(POINTERS)]
    expected = torch.stack([getattr(row, reducer)(0) if len(row) else src.new_zeros(rest) for row in rows])
    torch.testing.assert_close(segment.segment_csr(src, POINTERS, reduce=reduce), expected)
    out = torch.empty_like(expected)
    own = getattr(segment, f"segment_{reduce}_csr")(src, POINTERS, out)
    values = own[0] if isinstance(own, tuple) else own
    assert values is out
    torch.testing.assert_close(out, expected)
    if isinstance(own, tuple):
        assert own[1][1].tolist() == src.new_full(rest, 9).tolist()
        filled = [0, 2, 3]
        assert torch.equal(src.gather(0, own[1][filled]), values[filled])


def test_segments_of_batches() -> None:
    src, _ = example((2, 6, 3), (6,))
    pointers = torch.tensor([[0, 2, 6], [0, 5, 6]])
    expected = torch.stack([torch.stack([src[0, :2].sum(0), src[0, 2:].sum(0)]),
                            torch.stack([src[1, :5].sum(0), src[1, 5:].sum(0)])])  # fmt: skip
    assert torch.equal(segment.segment_csr(src, pointers), expected)
    assert torch.equal(segment.segment_csr(src, pointers[:1])[1, 1], src[1, 2:].sum(0))
    repeated = segment.gather_csr(expected, pointers)
    assert torch.equal(repeated[0], expected[0][[0, 0, 1, 1, 1, 1]])
    assert torch.equal(repeated[1], expected[1][[0, 0, 0, 0, 0, 1]])


def test_segments_by_index() -> None:
    src, _ = example((2, 6, 3), (6,))
    index = torch.tensor([[0, 0, 1, 1, 1, 3]])
    expected = segment.scatter(src, index[0], 1, reduce="max")
    assert torch.equal(segment.segment_coo(src, index, reduce="max"), expected)
    values, members = segment.segment_max_coo(src, index, dim_size=4)
    assert torch.equal(values, expected)
    assert torch.equal(members, segment.scatter_max(src, index[0], 1)[1])
    assert torch.equal(segment.segment_mean_coo(src, index), segment.scatter_mean(src, index[0], 1))
    assert torch.equal(segment.gather_coo(expected, index), expected[:, index[0]])
    out = torch.ones(2, 4, 3, dtype=torch.float64)
    assert torch.equal(segment.segment_sum_coo(src, index, out.clone()), segment.scatter_sum(src, index[0], 1, out))


@pytest.mark.parametrize("pointers", [[0, 2, 7], [-1, 2, 3], [2, 1, 3]])
@pytest.mark.parametrize("batches", [1, 2])
def test_pointers_are_checked(pointers: list[int], batches: int) -> None:
    src, indptr = torch.ones(2, 3), torch.tensor([pointers] * batches)
    with pytest.raises(OpIndexError, match=r"is out of range for 3 values|must ascend"):
        segment.segment_csr(src, indptr)
    with pytest.raises(OpIndexError, match=r"is out of range for 3 values|must ascend"):
        segment.segment_csr(src[0], indptr[0])
    with pytest.raises(TypeError, match="indptr must be integers"):
        segment.segment_csr(src[0], indptr[0].double())
    assert segment.segment_csr(src[0], torch.tensor([0, 2, 3], dtype=torch.int16)).tolist() == [2, 1]


@st.composite
def pointers(draw: Any) -> tuple[Any, Any]:
    """Return a src, and pointers that can be malformed in every way."""
    src = torch.arange(float(np.prod(shape := draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))))).reshape(
        shape
    )
    rank = draw(st.integers(0, len(shape) + 1))
    sizes = [draw(st.sampled_from([*shape[d : d + 1], *shape[d : d + 1], 1, 2])) for d in range(max(rank - 1, 0))]
    sizes += [draw(st.integers(0, 4))] if rank else []
    last = shape[rank - 1] if 1 <= rank <= len(shape) else 3
    values = [draw(st.integers(0, last) | st.integers(-1, last + 1)) for _ in range(int(np.prod(sizes)))]
    made = torch.tensor(values, dtype=torch.int64).reshape(sizes)
    if rank and draw(st.booleans()):
        made = made.sort(-1).values
    if rank and made.shape[-1] and draw(st.booleans()):
        made[..., 0], made[..., -1] = 0, last
    kinds = [torch.int64] * 6 + [torch.int32, torch.int8, torch.float32, torch.bool, torch.complex64]
    return src, made.to(draw(st.sampled_from(kinds)))


def is_well_formed(src: Any, indptr: Any, count: int) -> bool:
    """Check the rules of torch_scatter, and that pointers ascend from 0 to at most count."""
    if indptr.dtype not in (torch.int64, torch.int32, torch.int8) or not 1 <= indptr.ndim <= src.ndim:
        return False
    fits = all(a in (1, b) for a, b in zip(indptr.shape[:-1], src.shape, strict=False)) and indptr.shape[-1] > 0
    rows = indptr.expand(*src.shape[: indptr.ndim - 1], -1).reshape(-1, indptr.shape[-1]).tolist() if fits else []
    return fits and all(row == sorted(row) and row[0] >= 0 and row[-1] <= count for row in rows)


@given(drawn=pointers(), name=st.sampled_from(["csr", "sum_csr", "mean_csr", "min_csr", "max_csr"]))
def test_pointers_are_taken_or_refused_with_a_sentence(drawn: Any, name: str) -> None:
    src, indptr = drawn
    dim = indptr.ndim - 1
    good = is_well_formed(src, indptr, src.shape[dim] if 0 <= dim < src.ndim else 0)
    found = outcome(getattr(segment, f"segment_{name}"), src, indptr)
    assert good != isinstance(found, OpError), found
    if not good:
        assert f"segment_{name}: indptr" in str(found)
        return
    found = found[0] if isinstance(found, tuple) else found
    rows = indptr.expand(*src.shape[:dim], -1)
    assert found.shape == (*src.shape[:dim], rows.shape[-1] - 1, *src.shape[dim + 1 :])
    if name in ("csr", "sum_csr"):
        for target in np.ndindex(*found.shape[: dim + 1]):
            first, last = rows[target[:-1]][target[-1] : target[-1] + 2].tolist()
            assert torch.equal(found[target], src[target[:-1]][first:last].sum(0))


@given(drawn=pointers())
def test_pointers_of_gathers_are_taken_or_refused_with_a_sentence(drawn: Any) -> None:
    src, indptr = drawn
    dim = indptr.ndim - 1
    good = is_well_formed(src, indptr, 99)
    if good:
        rows = indptr.expand(*src.shape[:dim], -1)
        count = int(rows.flatten()[-1]) if rows.numel() else 0
        good = src.shape[dim] == rows.shape[-1] - 1
        good = good and bool((rows[..., 0] == 0).all()) and bool((rows[..., -1] == count).all())
    found = outcome(segment.gather_csr, src, indptr)
    assert good != isinstance(found, OpError), found
    if not good:
        assert "gather_csr: indptr" in str(found)
        return
    for target in np.ndindex(*src.shape[:dim]):
        assert torch.equal(found[target], src[target].repeat_interleave(rows[target].diff().to(torch.int64), dim=0))


def test_results_are_contiguous() -> None:
    src, index = example((2, 7, 9), (7,))
    pointers = torch.tensor([[0, 3, 7]])
    results = [segment.segment_csr(src, pointers), *segment.segment_max_csr(src, pointers),
               *segment.scatter_max(src, index, 1), *segment.scatter(src, index, 1, reduce=("sum", "max"))]  # fmt: skip
    assert all(result.is_contiguous() for result in results)


def test_gradients_with_out() -> None:
    index = torch.tensor([0, 0, 1])
    for reduce in ("sum", "mul", "mean", "min", "max"):

        def call(src: Any, start: Any, reduce: str = reduce) -> Any:
            return segment.scatter(src, index, 0, start * 1, reduce=reduce)

        values = torch.tensor([2.0, 3.5, 5.0], dtype=torch.float64), torch.tensor([3.0, 4.5], dtype=torch.float64)
        assert gradcheck(call, tuple(value.requires_grad_() for value in values))
        assert gradcheck(partial(call, values[0].detach()), (values[1],))


def test_one_index_stands_for_all_and_negative_ones_count_from_the_end() -> None:
    assert segment.scatter(torch.ones(4), torch.tensor([1])).tolist() == [0, 4]
    assert segment.scatter(torch.ones(3), torch.tensor([0, -1, 1]), dim_size=4).tolist() == [1, 1, 0, 1]


def test_logarithms_of_nothing() -> None:
    src, index = torch.tensor([-torch.inf, -torch.inf, torch.inf, 1.0]), torch.tensor([0, 0, 1, 1])
    assert segment.scatter_logsumexp(src, index, dim_size=3).tolist() == [-torch.inf, torch.inf, 0]
    single = torch.tensor([-torch.inf, 2.0], requires_grad=True)
    segment.scatter_logsumexp(single, torch.tensor([0, 1])).sum().backward()
    assert single.grad.tolist() == [0, 1]


def test_gradients_of_segments() -> None:
    src, _ = distinct((9, 3), (9,))
    for reduce in ("sum", "mean", "max"):

        def there_and_back(src: Any, reduce: str = reduce) -> Any:
            return segment.gather_csr(segment.segment_csr(src, POINTERS, reduce=reduce), torch.tensor([0, 1, 3, 4, 6]))

        assert gradcheck(there_and_back, (src.clone().requires_grad_(),))


# ------------------------------------------------------------------------------------------ transformations, promises


def test_func_and_compiler() -> None:
    src, index = distinct((7, 9), (7,))
    indices = torch.stack([index, index.flip(0)])

    def several(index: Any) -> Any:
        return segment.scatter(src, index, 0, dim_size=SIZE, reduce=("sum", "argmax", "count"))

    for found, *expected in zip(vmap(several)(indices), *map(several, indices), strict=True):
        assert_equal(found.numpy(), torch.stack(expected).numpy())
    with pytest.raises(IndexError, match="out of range"):  # the indices must not reach the next entry
        vmap(several)(torch.stack([index, index + 3]))
    assert torch.equal(vmap(several)(indices - SIZE)[0], vmap(several)(indices)[0])
    gradient = grad(lambda src, index: segment.scatter(src, index, 0, dim_size=SIZE, reduce="max").sin().sum())
    assert torch.allclose(
        vmap(gradient, (None, 0))(src, indices), torch.stack([gradient(src, each) for each in indices])
    )


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_function() -> None:
    torch._dynamo.reset()
    src, index = distinct((7, 9), (7,))

    def function(src: Any) -> Any:
        total, top = segment.scatter(src * 2, index, 0, dim_size=SIZE, reduce=("sum", "max"))
        return segment.scatter_softmax(total + top, torch.tensor([0, 1, 0, 1, 1]), 0, dim_size=2)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    ours, plain = src.clone().requires_grad_(), src.clone().requires_grad_()
    compiled(ours)[0].sum().backward()
    function(plain)[0].sum().backward()
    assert torch.allclose(ours.grad, plain.grad)


@pytest.mark.filterwarnings("ignore")
def test_sizes_that_only_a_run_knows() -> None:
    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, src: Any, index: Any, like: Any) -> Any:
            return segment.scatter(src, index, 0, dim_size=like.shape[0], reduce=("max", "count"))

    inputs = (*distinct((7, 9), (7,)), torch.zeros(5))
    dims = ({0: torch.export.Dim("m")}, {0: torch.export.Dim("m")}, {0: torch.export.Dim("n")})
    program = torch.export.export(Module(), inputs, dynamic_shapes=dims).module()
    more = (*distinct((11, 9), (11,)), torch.zeros(6))
    for found, expected in zip(program(*more), Module()(*more), strict=True):
        assert torch.equal(found, expected)


def test_the_operator_passes_the_checks_of_pytorch() -> None:
    src, index = distinct((7, 9), (7,))
    operator = torch.ops.gatherscatter.reduce.default
    arguments = (src.clone().requires_grad_(), index, SIZE, ["max", "argmax", "sum", "count"])
    assert set(torch.library.opcheck(operator, arguments).values()) == {"SUCCESS"}


def test_the_same_bits_for_any_number_of_threads() -> None:
    src, index = torch.randn(200_000, 16), torch.randint(0, 5000, (200_000,))
    names = ("sum", "mean", "max", "argmax")
    before = gs.num_threads()
    try:
        results = []
        for threads in (1, 2, 7):
            gs.set_num_threads(threads)
            results.append([*segment.scatter(src, index, 0, reduce=names), segment.scatter_softmax(src, index, 0)])
    finally:
        gs.set_num_threads(before)
    for one, *others in zip(*results, strict=True):
        assert all(torch.equal(one, other) for other in others)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_many_halves(dtype: Any) -> None:
    nowhere = torch.zeros(4096, dtype=torch.int64)
    for width in (1, 9):
        ones = torch.ones(4096, width, dtype=dtype)
        assert segment.scatter(ones, nowhere, 0).tolist() == [[4096.0] * width]
        assert segment.scatter_mean(ones, nowhere, 0).tolist() == [[1.0] * width]
        total, mean = segment.scatter(ones, nowhere, 0, reduce=("sum", "mean"))
        assert (total.tolist(), mean.tolist()) == ([[4096.0] * width], [[1.0] * width])


def test_more_halves_than_a_half_can_count() -> None:
    many, nowhere = torch.ones(70_000, dtype=torch.float16), torch.zeros(70_000, dtype=torch.int64)
    many[0] = 2
    assert segment.scatter_std(many, nowhere).item() == pytest.approx(70_000**-0.5, rel=1e-3)
    assert segment.scatter_log_softmax(many, nowhere)[1].item() == pytest.approx(-np.log(70_000), rel=1e-3)
    assert segment.scatter_softmax(many, nowhere)[1].item() == pytest.approx(1 / 70_000, rel=0.02)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float16, torch.bfloat16])
def test_other_types(dtype: Any) -> None:
    src, index = example((7, 9), (7,), torch.int64)
    src = (src + 4).to(dtype)
    for reduce in ("sum", "min", "max"):
        found = segment.scatter(src, index, 0, dim_size=SIZE, reduce=reduce)
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), by_loops(src.double(), index, 0, *REDUCTIONS[reduce]))
    assert torch.equal(segment.scatter_min(src, index, 0)[1], segment.scatter_min(src.double(), index, 0)[1])
    for width in (1, 9):
        whole = torch.tensor([[-1] * width, [-2] * width, [4] * width])
        for mean in (segment.scatter_mean(whole, torch.tensor([0, 0, 1]), 0),
                     segment.scatter(whole, torch.tensor([0, 0, 1]), 0, reduce=("mean",))[0]):  # fmt: skip
            assert mean.tolist() == [[-2] * width, [4] * width]
    found = segment.scatter_std(torch.tensor([1, 2, 4, 9]), torch.tensor([0, 0, 1, 1]))
    torch.testing.assert_close(found, torch.tensor([0.5, 12.5]).sqrt())


def test_errors() -> None:
    src = torch.zeros(3, 9)
    for reduce in ("sum", "max", ("sum", "max")):
        with pytest.raises(OpIndexError, match="7 is out of range"):
            segment.scatter(src, torch.tensor([0, 7, 1]), 0, dim_size=3, reduce=reduce)
    with pytest.raises(ValueError, match="reduce must be one of 'sum'"):
        segment.scatter(src, torch.tensor([0, 1, 1]), 0, reduce="median")
    with pytest.raises(ValueError, match="reduce must be one of 'sum', 'mean'"):
        segment.scatter(src, torch.tensor([0, 1, 1]), 0, reduce=("sum", "median"))
    with pytest.raises(ValueError, match="reduce has 'max' twice"):
        segment.scatter(src, torch.tensor([0, 1, 1]), 0, reduce=("max", "max"))
    with pytest.raises(ValueError, match="out is allowed only with a single reduction"):
        segment.scatter(src, torch.tensor([0, 1, 1]), 0, torch.zeros(2, 9), reduce=("max", "sum"))
    with pytest.raises(IndexError, match="dim 2 is out of range"):
        segment.scatter(src, torch.tensor([0, 1, 1]), 2)


def test_torch_scatter_itself() -> None:
    peer: Any = pytest.importorskip("torch_scatter")
    for shape, dim, index_shape in FORMS[:9]:
        src, index = example(shape, index_shape)
        for name in ("sum", "mul", "mean", "min", "max"):
            found, expected = (
                getattr(module, f"scatter_{name}")(src, index, dim, dim_size=SIZE) for module in (segment, peer)
            )
            torch.testing.assert_close(found, expected)
        for name in ("softmax", "log_softmax"):
            found, expected = (getattr(module, f"scatter_{name}")(src, index, dim) for module in (segment, peer))
            torch.testing.assert_close(found, expected)
        for name in ("std", "logsumexp"):
            found, expected = (
                getattr(module, f"scatter_{name}")(src, index, dim, dim_size=SIZE) for module in (segment, peer)
            )
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
