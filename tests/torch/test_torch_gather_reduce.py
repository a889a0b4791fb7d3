"""gather_reduce and EmbeddingBag for PyTorch: values, gradients, transformations, compiler, export."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core, oracle
from gatherscatter.errors import OpError, OpIndexError, OpTypeError, OpValueError
from tests.support.devices import USES_TORCH_OPERATORS, only_core

torch: Any = pytest.importorskip("torch")
gst: Any = pytest.importorskip("gatherscatter.torch")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, jacrev, jvp, vmap  # noqa: E402

REDUCTIONS = ("add", "mean", "mul", "min", "max")
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
HALVES = FLOATS[2:]

# Six members of a table of 5 rows, and the bag of each member.
ROWS = torch.tensor([0, 4, -1, 2, 2, 0])
BAGS: dict[str, tuple[dict[str, Any], list[int], int]] = {
    "packed": ({"indices": ROWS.reshape(3, 2)}, [0, 0, 1, 1, 2, 2], 3),
    "packed, two axes": ({"indices": ROWS.reshape(1, 3, 2)}, [0, 0, 1, 1, 2, 2], 3),
    "offsets": ({"indices": ROWS, "offsets": torch.tensor([0, 2, 2, 5, 6])}, [0, 0, 2, 2, 2, 3], 5),
    "indptr": ({"indices": ROWS, "indptr": torch.tensor([0, 2, 2, 5, 6, 6])}, [0, 0, 2, 2, 2, 3], 5),
    "segment_ids": (
        {"indices": ROWS, "segment_ids": torch.tensor([3, 0, 0, 3, 1, 0]), "num_segments": 5},
        [3, 0, 0, 3, 1, 0],
        5,
    ),
    "all rows": ({"segment_ids": torch.tensor([1, 0, 1, 1, 3], dtype=torch.int32)}, [1, 0, 1, 1, 3], 4),
}


def randoms(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype or torch.float64)


def member_shape(bags: dict[str, Any]) -> tuple[int, ...]:
    return tuple(bags["indices"].shape) if "indices" in bags else (5,)


def leaves(*values: Any) -> tuple[Any, ...]:
    return tuple(value.detach().clone().requires_grad_() for value in values)


# ---------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("form", BAGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.complex64])
def test_the_oracle_and_the_array_function_agree(form: str, dtype: Any) -> None:
    bags, bag_of, count = BAGS[form]
    data = (randoms(5, 3) * 8).to(dtype)
    weights = (randoms(*member_shape(bags), seed=1) * 4).to(dtype)
    rows = bags["indices"].flatten().tolist() if "indices" in bags else list(range(5))
    array, factors = gs_array(data), list(gs_array(weights).reshape(-1))
    for reduction, mode in itertools.product(REDUCTIONS, ("raise", "fill")):
        if dtype.is_complex and reduction in ("min", "max"):
            continue
        how = {"reduction": reduction, "default": 2, "mode": mode}
        default = np.array(2, array.dtype)[()]
        expected = oracle.gather_reduce(
            array, rows, bag_of, count, factors, reduction, default=default, accumulate="step", mode=mode
        )
        for leaf in (False, True):
            own = data.clone().requires_grad_(leaf and dtype.is_floating_point)
            found = gst.gather_reduce(own, weights=weights, **bags, **how)
            made = gs_array(found.detach()).reshape(expected.shape)
            if USES_TORCH_OPERATORS and reduction in ("add", "mul", "mean") and dtype != torch.int32:
                # Floats are added in another order. The error is in proportion to the sum of the magnitudes.
                sizes = [np.abs(x.astype(complex)) for x in (array, gs_array(weights).reshape(-1))]
                most = oracle.gather_reduce(
                    sizes[0], rows, bag_of, count, list(sizes[1]), reduction, default=2.0, accumulate="step", mode=mode
                )
                loose = 0.02 if dtype == torch.bfloat16 else 1e-5
                assert (np.abs(made.astype(complex) - expected.astype(complex)) <= loose * most).all()
            else:
                oracle.assert_same(made, expected, array, zero_sign=False)
        assert torch.equal(found.detach(), gs.gather_reduce(data, weights=weights, **bags, **how))


def gs_array(tensor: Any) -> np.ndarray:
    """Return a NumPy array of the same type, including bfloat16."""
    import ml_dtypes

    return (
        tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16) if tensor.dtype == torch.bfloat16 else tensor.numpy()
    )


def test_lists_numbers_and_threads() -> None:
    table = torch.tensor([[1.0, 2.0], [10.0, 20.0]], requires_grad=True)
    found = gst.gather_reduce(table, [0, 1], offsets=[0, 0], weights=[2.0, 0.5], default=np.float32(-1), num_threads=1)
    assert found.tolist() == [[-1, -1], [7, 14]]
    assert gst.gather_reduce(table, [], offsets=[], weights=[]).shape == (0, 2)
    assert gst.gather_reduce(table, segment_ids=[1, 1]).tolist() == [[0, 0], [11, 22]]


# ------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("form", BAGS)
def test_both_derivatives(form: str, reduction: str, weighted: bool) -> None:
    bags, _, _ = BAGS[form]
    inputs = leaves(randoms(5, 3), *([randoms(*member_shape(bags), seed=1)] if weighted else []))
    modes = ("raise", "wrap", "clip", "fill") if form == "offsets" else ("raise",)
    for mode in modes:
        own = bags if mode == "raise" else bags | {"indices": bags["indices"] * 2}

        def call(data: Any, weights: Any = None, own: Any = own, mode: str = mode) -> Any:
            return gst.gather_reduce(data, weights=weights, reduction=reduction, default=3, mode=mode, **own)

        assert gradcheck(call, inputs)
        assert gradgradcheck(call, inputs)


@pytest.mark.parametrize("dtype", [torch.complex128, torch.float64])
@pytest.mark.parametrize("reduction", ["add", "mean", "mul"])
def test_complex_gradients_and_real_weights(reduction: str, dtype: Any) -> None:
    def call(data: Any, weights: Any) -> Any:
        return gst.gather_reduce(data, ROWS, offsets=[0, 2, 2, 5], weights=weights, reduction=reduction)

    inputs = leaves(randoms(5, 2, dtype=torch.complex128), randoms(6, seed=1, dtype=dtype))
    assert gradcheck(call, inputs)
    assert gradgradcheck(call, inputs)


def test_data_without_features_and_weights_alone() -> None:
    (weights,) = leaves(randoms(6))
    data = randoms(5, seed=1)
    for shape in ((5,), (5, 1, 2), (5, 0)):
        wide = data.reshape(5, *(1,) * (len(shape) - 1)).expand(shape)
        found = torch.autograd.grad(gst.gather_reduce(wide, ROWS, offsets=[0, 3], weights=weights).sum(), weights)[0]
        assert torch.equal(found, data[ROWS] * int(np.prod(shape[1:])))
    (table,) = leaves(torch.ones(5, 2))
    gst.gather_reduce(table, torch.zeros(0, 3, dtype=torch.int64)).sum().backward()
    assert not table.grad.any()


@pytest.mark.parametrize("which", ["min", "max"])
def test_ties_share_as_those_of_scatter_reduce(which: str) -> None:
    values = torch.tensor([[1.0, 5.0], [1.0, 5.0], [torch.nan, 2.0], [0.0, 0.0]])
    rows, ids = torch.tensor([0, 1, 0, 2, 3, 3]), torch.tensor([0, 0, 0, 1, 2, 2])
    ours, theirs = leaves(values, values)
    found = gst.gather_reduce(ours, rows, segment_ids=ids, num_segments=4, reduction=which, default=9)
    index = ids.unsqueeze(-1).expand(6, 2)
    start = torch.full((4, 2), 9.0)  # 9 differs from all values, because PyTorch lets an equal one share the gradient
    expected = start.scatter_reduce(0, index, theirs[rows], f"a{which}", include_self=False)
    assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
    upstream = randoms(4, 2).to(torch.float32)
    pair = [torch.autograd.grad(out, own, upstream)[0] for out, own in ((found, ours), (expected, theirs))]
    # PyTorch does not treat NaN as the extremum.
    assert torch.equal(pair[0][[0, 1, 3]], pair[1][[0, 1, 3]])
    assert pair[0][2].tolist() == upstream[1].tolist()


@pytest.mark.parametrize("mode", ["raise", "fill"])
@pytest.mark.parametrize("which", ["min", "max"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_equal_members_share_the_gradient_of_their_bag(dtype: Any, which: str, mode: str) -> None:
    """Members without a row, which are zeros, also share the gradient. Their share is lost."""
    values = torch.tensor([[0.0, -0.0, 3.0], [2.0, torch.nan, 3.0], [2.0, 1.0, torch.nan], [-1.0, 0.0, -torch.inf]])
    rows = [[0, 1, 2], [0, 0, 3], [1, 2, 7 if mode == "fill" else 1]]
    upstream = (randoms(3, 3) * 4).to(dtype)
    (data,) = leaves(values.to(dtype))
    gst.gather_reduce(data, rows, reduction=which, mode=mode).backward(upstream)
    expected = np.zeros((5, 3))
    padded = np.concatenate([values.numpy(), np.zeros((1, 3))])
    for (bag, members), column in itertools.product(enumerate(rows), range(3)):
        own = [min(row, 4) for row in members]
        least = getattr(np, which)(padded[own, column])
        ties = [row for row in own if np.array_equal(padded[row, column], least, equal_nan=True)]
        for row in ties:
            expected[row, column] += upstream[bag, column].item() / len(ties)
    error = 1e-6 if dtype in FLOATS[:2] else 3e-2
    np.testing.assert_allclose(data.grad.to(torch.float64).numpy(), expected[:4], rtol=error, atol=error)


@pytest.mark.parametrize("dtype", HALVES)
def test_many_gradients_of_16_bits_are_added_up(dtype: Any) -> None:
    for reduction in ("add", "max"):
        (table,) = leaves(torch.ones(1, 1, dtype=dtype))
        gst.gather_reduce(table, torch.zeros(4096, 1, dtype=torch.int64), reduction=reduction).sum().backward()
        assert table.grad.item() == 4096


def test_gradients_have_the_types_of_their_inputs() -> None:
    data, weights = leaves(torch.ones(5, 2, dtype=torch.float64), torch.ones(6, dtype=torch.float32))
    gst.gather_reduce(data, ROWS, offsets=[0], weights=weights).sum().backward()
    assert (data.grad.dtype, weights.grad.dtype) == (torch.float64, torch.float32)


def test_only_what_is_needed_is_kept() -> None:
    data, weights = leaves(randoms(5, 2), randoms(6))
    for reduction, which, kept in (("add", 0, {"weights"}), ("mean", 1, {"data", "weights"}), ("max", 0, {"data"})):
        inputs = [data.detach(), None if reduction == "max" else weights.detach()]
        inputs[which].requires_grad_()
        found = []

        def pack(tensor: Any, inputs: Any = inputs, found: Any = found) -> Any:
            found.extend(n for n, own in zip(("data", "weights"), inputs, strict=True) if own is not None
                         and tensor.data_ptr() == own.data_ptr())  # fmt: skip
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            gst.gather_reduce(inputs[0], ROWS, offsets=[0], weights=inputs[1], reduction=reduction)
        assert set(found) == kept


PEAK = """
import resource
import torch, gatherscatter as gs, gatherscatter.torch as gst
gs.set_pool_limit(0)
gs.set_num_threads(2)
table = torch.ones(20_000, 128, requires_grad=True)
indices = torch.randint(0, 20_000, (12_500, 32))
upstream = torch.ones(12_500, 128)
torch.autograd.grad(gst.gather_reduce(table, indices[:2]).sum(), table)
weights = torch.ones(12_500, 32, requires_grad=True) if weighted else None
inputs = [table, weights] if weighted else [table]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
torch.autograd.grad(gst.gather_reduce(table, indices, weights=weights, reduction=reduction), inputs, upstream)
print(peak() - before)
"""


@only_core
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")
@pytest.mark.parametrize(("reduction", "weighted"), [("mean", False), ("max", False), ("min", False), ("add", True)])
def test_no_row_is_stored_for_each_member(reduction: str, weighted: bool) -> None:
    """They would take 205 MB. The gradient takes 10 MB, and each member a few times 8 bytes."""
    code = f"reduction, weighted = {reduction!r}, {weighted}\n{PEAK}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 80 << 20


# ------------------------------------------------------------------------------------------------------ torch.func

BATCH = 3


@pytest.mark.parametrize("reduction", ["add", "mean", "max"])
@pytest.mark.parametrize("form", ["packed", "offsets", "indptr", "segment_ids"])
def test_vmap_and_its_gradients(form: str, reduction: str) -> None:
    bags, _, _ = BAGS[form]
    names = [name for name in bags if name != "num_segments"]
    others = {name: value for name, value in bags.items() if name == "num_segments"}
    single = [randoms(5, 3), randoms(*member_shape(bags), seed=1), *(bags[name] for name in names)]
    batched = [randoms(BATCH, 5, 3, seed=2), randoms(BATCH, *single[1].shape, seed=3)]
    batched.append(torch.stack([single[2], single[2].flip(0), (single[2] + 1) % 5]))
    if form == "offsets":
        batched.append(torch.tensor([[0, 2, 2, 5, 6], [0, 0, 0, 0, 0], [0, 1, 4, 4, 5]]))
    if form == "indptr":
        batched.append(torch.tensor([[0, 2, 2, 5, 6, 6], [0, 0, 0, 0, 0, 6], [0, 1, 4, 4, 5, 6]]))
    if form == "segment_ids":
        batched.append(torch.stack([single[3], single[3].flip(0), (single[3] + 1) % 5]))

    def call(data: Any, weights: Any, *members: Any) -> Any:
        given = dict(zip(names, members, strict=True))
        return gst.gather_reduce(data, weights=weights, reduction=reduction, **given, **others)

    def one_by_one(call: Any, in_dims: Any, inputs: Any) -> Any:
        pairs = [list(zip(inputs, in_dims, strict=True))] * BATCH
        return torch.stack([call(*(x if dim is None else x[b] for x, dim in each)) for b, each in enumerate(pairs)])

    for in_dims in list(itertools.product((None, 0), repeat=len(single)))[1:]:
        inputs = [b if dim == 0 else s for b, s, dim in zip(batched, single, in_dims, strict=True)]
        assert torch.equal(vmap(call, in_dims)(*inputs), one_by_one(call, in_dims, inputs))
        for which in (0, 1):
            gradient = grad(lambda *inputs: call(*inputs).sin().sum(), argnums=which)
            assert torch.allclose(vmap(gradient, in_dims)(*inputs), one_by_one(gradient, in_dims, inputs))


@pytest.mark.parametrize("form", ["packed", "offsets", "indptr", "segment_ids"])
def test_vmap_of_gradients_of_extrema(form: str) -> None:
    """Rows of whole numbers have ties."""
    bags, _, _ = BAGS[form]
    others = {name: value for name, value in bags.items() if name != "indices"}
    tables, upstream = randoms(BATCH, 5, 3).round(), randoms(BATCH, *gst.gather_reduce(randoms(5, 3), **bags).shape)
    members = torch.stack([bags["indices"], bags["indices"].flip(0), (bags["indices"] + 1) % 5])

    def pull(table: Any, indices: Any, upstream: Any) -> Any:
        call = lambda table: gst.gather_reduce(table, indices, reduction="max", **others)  # noqa: E731
        return torch.func.vjp(call, table)[1](upstream)[0]

    single, batched = (tables[0], bags["indices"], upstream[0]), (tables, members, upstream)
    for in_dims in list(itertools.product((None, 0), repeat=3))[1:]:
        inputs = [b if dim == 0 else s for b, s, dim in zip(batched, single, in_dims, strict=True)]
        entries = [[x if dim is None else x[i] for x, dim in zip(inputs, in_dims, strict=True)] for i in range(BATCH)]
        expected = torch.stack([pull(*entry) for entry in entries])
        assert torch.equal(vmap(pull, in_dims)(*inputs), expected)


@only_core
def test_a_batch_of_tables_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Core:
        """The core, which counts the calls of the kernel."""

        def gather_reduce(self, *arrays: Any, **options: Any) -> Any:
            calls.append(1)
            return _core.gather_reduce(*arrays, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(_core, name)

    monkeypatch.setattr("gatherscatter.torch.bags._core", Core())
    tables = randoms(4, 5, 3)
    members = (
        {"indices": ROWS.abs().reshape(3, 2)},
        {"indices": ROWS.abs().reshape(1, 3, 2)},
        {"indices": ROWS.abs(), "offsets": torch.tensor([0, 2])},
        {"segment_ids": torch.tensor([1, 0, 1, 1, 3])},
    )
    for bags in members:
        calls.clear()
        found = vmap(lambda table, bags=bags: gst.gather_reduce(table, **bags))(tables)
        assert len(calls) == 1
        assert torch.equal(found, torch.stack([gst.gather_reduce(table, **bags) for table in tables]))


def test_jacobians_within_each_other() -> None:
    def call(data: Any) -> Any:
        return gst.gather_reduce(data, ROWS, offsets=[0, 2, 2, 5], reduction="mul").sum()

    def by_hand(data: Any) -> Any:
        rows = data[ROWS]
        return (rows[:2].prod(0) + rows[2:5].prod(0) + rows[5]).sum()

    data = randoms(5, 2)
    assert torch.allclose(grad(call)(data), grad(by_hand)(data))
    assert torch.allclose(jacrev(jacrev(call))(data), jacrev(jacrev(by_hand))(data))


@pytest.mark.filterwarnings("ignore")  # PyTorch loads rules that include a deprecated function
def test_forward_mode_is_refused_rather_than_wrong() -> None:
    data = randoms(3, 2)
    with pytest.raises(TypeError, match="no derivatives in forward mode"):
        jvp(lambda data: gst.gather_reduce(data, [[0]]), (data,), (data,))


# --------------------------------------------------------------------------------------------- compiler and export


def compiled_forms() -> list[tuple[tuple[Any, ...], Any]]:
    return [
        ((ROWS.reshape(3, 2),), lambda rows: {"indices": rows}),
        ((ROWS, torch.tensor([0, 2, 2, 5])), lambda rows, offsets: {"indices": rows, "offsets": offsets}),
        ((ROWS, torch.tensor([3, 0, 0, 3, 1, 0])), lambda rows, ids: {"indices": rows, "segment_ids": ids}),
    ]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # from the compiler
@pytest.mark.parametrize(("reduction", "weighted"), [*((how, True) for how in REDUCTIONS), ("max", False)])
@pytest.mark.parametrize("form", range(3))
def test_compiled_and_exported_code_has_the_same_values_and_gradients(
    form: int, reduction: str, weighted: bool
) -> None:
    torch._dynamo.reset()
    members, name = compiled_forms()[form]

    def function(data: Any, weights: Any, *members: Any) -> Any:
        bags = name(*members)
        if "segment_ids" in bags:
            bags["num_segments"] = data.shape[0]
        bags["weights"] = weights.reshape(bags["indices"].shape) if weighted else None
        return gst.gather_reduce(data.sin(), reduction=reduction, default=1.5, **bags).cos() + weights.sum()

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, data: Any, weights: Any, rows: Any, bags: Any = None) -> Any:
            return function(data, weights, rows, *([] if bags is None else [bags]))

    weights = randoms(6, seed=1)
    dynamic = ({0: torch.export.Dim("rows")}, *(None,) * (1 + len(members)))
    program = torch.export.export(Module(), (randoms(7, 3), weights, *members), dynamic_shapes=dynamic)
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    for count in (5, 9):
        plain = leaves(randoms(count, 3), weights)
        expected = function(*plain, *members)
        of_plain = torch.autograd.grad(expected.sum(), plain)
        for other in (compiled, program.module()):
            own = leaves(*plain)
            found = other(*own, *members)
            assert torch.allclose(found, expected)
            for ours, theirs in zip(torch.autograd.grad(found.sum(), own), of_plain, strict=True):
                assert torch.allclose(ours, theirs)


@pytest.mark.filterwarnings("ignore")
def test_a_number_of_bags_that_follows_from_values_is_refused_where_shapes_are_needed() -> None:
    torch._dynamo.reset()
    ids = torch.tensor([0, 1, 1])
    with pytest.raises(Exception, match="gather_reduce: num_segments is missing; it is required in code"):
        torch.compile(lambda ids: gst.gather_reduce(torch.ones(3, 2), segment_ids=ids), fullgraph=True)(ids)
    with pytest.raises(OpValueError, match=r"num_segments is missing; .* batched over segment_ids"):
        vmap(lambda ids: gst.gather_reduce(torch.ones(3, 2), segment_ids=ids))(ids.expand(2, 3))


@pytest.mark.full  # it compiles C++
@pytest.mark.filterwarnings("ignore")
def test_a_bad_index_in_compiled_code() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda data, rows: gst.gather_reduce(data * 2, rows) + 1, fullgraph=True)
    assert compiled(torch.arange(3.0), torch.tensor([[2, 0]])).tolist() == [5]
    with pytest.raises(IndexError, match=r"indices\[0, 1\] = 3 is out of range"):
        compiled(torch.arange(3.0), torch.tensor([[0, 3]]))


def test_opcheck() -> None:
    data, weights = leaves(randoms(5, 3), randoms(6, seed=1))
    (few,) = leaves(randoms(5))
    ids, offsets = torch.tensor([3, 0, 0, 3, 1, 0]), torch.tensor([0, 2])
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((data, ROWS.reshape(3, 2)), {}),
        ((data, ROWS, offsets), {"reduction": "mean"}),
        ((data, ROWS, None, ids, None, weights), {"num_segments": 5, "reduction": "max"}),
        ((data, None, offsets, None, None, few), {"mode": "fill", "reduction": "mul", "default": 1.5}),
    ]
    for arguments, options in calls:
        checks = torch.library.opcheck(torch.ops.gatherscatter.gather_reduce.default, arguments, options)
        assert set(checks.values()) == {"SUCCESS"}


def test_opcheck_of_what_gradients_are_made_of() -> None:
    keys, targets, values = leaves(randoms(5, 3).round(), randoms(4, 3, seed=1).round(), randoms(5, 3, seed=2))
    rows, bags = torch.tensor([0, 4, 1, 2, 2, 0]), torch.tensor([3, 0, 0, 3, 1, 0])
    ops = torch.ops.gatherscatter
    for operator, arguments in (
        (ops.sum_matches, (values, keys, targets, rows, bags)),
        (ops.sum_matches, (None, keys, targets, rows, bags)),
        (ops.dot_rows, (values, targets, rows, bags)),
    ):
        checks = torch.library.opcheck(operator.default, arguments, {"num_threads": 2})
        assert set(checks.values()) == {"SUCCESS"}


def test_both_derivatives_of_what_gradients_are_made_of() -> None:
    from gatherscatter.torch.bags import dot_rows
    from gatherscatter.torch.matches import sum_matches

    a, b, values = leaves(randoms(5, 3), randoms(4, 3, seed=1), randoms(5, 3, seed=2))
    pairs = torch.tensor([0, 4, 1, 2, 2, 0]), torch.tensor([3, 0, 0, 3, 1, 0])
    keys, targets = a.detach().round(), b.detach().round()
    assert sum_matches(None, keys, targets, *pairs).any()
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (lambda values: sum_matches(values, keys, targets, *pairs).sin(), (values,)),
        (lambda a, b: dot_rows(a, b, *pairs), (a, b)),
    ]
    for call, inputs in calls:
        assert gradcheck(call, inputs)
        assert gradgradcheck(call, inputs)


def test_meta_tensors_have_shapes() -> None:
    data, rows = torch.zeros(4, 3, device="meta"), torch.zeros(2, 5, dtype=torch.int64, device="meta")
    assert gst.gather_reduce(data, rows).shape == (2, 3)
    assert gst.gather_reduce(data, rows[0], offsets=rows[1]).shape == (5, 3)
    assert gst.gather_reduce(data, segment_ids=rows[0, :4], num_segments=7).shape == (7, 3)


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("leaf", [False, True])
def test_errors_are_those_of_the_array_function(leaf: bool) -> None:
    data = torch.zeros(3, 2, requires_grad=leaf)
    cases: list[tuple[dict[str, Any], type[OpError], str]] = [
        ({"indices": [[0, 3]]}, OpIndexError, r"indices\[0, 1\] = 3 is out of range for axis 0"),
        ({"indices": [0]}, OpValueError, "define the bags in exactly one way"),
        ({"indices": [0, 1], "offsets": [0, 2, 1]}, OpValueError, r"offsets\[2\] = 1 comes after 2"),
        ({"segment_ids": [0, 1, 5], "num_segments": 2}, OpIndexError, r"segment_ids\[2\] = 5 is out of range"),
        ({"indices": [[0]], "weights": [1.0]}, OpValueError, "weights has shape"),
        ({"indices": [[0]], "reduction": "sub"}, OpValueError, "reduction must be one of"),
        ({"indices": [[0]], "default": "x"}, OpTypeError, "default must be a number, not 'x'"),
        ({"indices": [[0.5]]}, OpTypeError, "indices must be integers"),
    ]
    for arguments, kind, text in cases:
        with pytest.raises(kind, match=text):
            gst.gather_reduce(data, **arguments)


def test_tensors_that_are_not_dense_or_not_here() -> None:
    with pytest.raises(OpTypeError, match="gather_reduce: data is a sparse tensor"):
        gst.gather_reduce(torch.eye(2).to_sparse(), [[0]])
    with pytest.raises(OpTypeError, match="data is on cpu, but another input on meta"):
        gst.gather_reduce(torch.ones(2), torch.zeros(1, 1, dtype=torch.int64, device="meta"))


# ---------------------------------------------------------------------------------------------------- EmbeddingBag

TABLE = (20, 7)


def draw(form: str) -> tuple[Any, Any]:
    """Return indices, many of them 3 and 19 of 20, and offsets with empty bags."""
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(0, 20, (8, 5) if form == "2-D" else (40,), generator=generator)
    rows[..., ::4], rows[:1] = 3, 19
    if form == "2-D":
        return rows, None
    return rows, torch.tensor([0, 3, 3, 4, 39, *([40] if form == "last offset" else [])])


def make_pair(**options: Any) -> tuple[Any, Any]:
    """Return our module and PyTorch's, with the same table. The padding row is not zeros."""
    pair = []
    for module in (gst.EmbeddingBag, torch.nn.EmbeddingBag):
        torch.manual_seed(5)
        pair.append(module(*TABLE, **options))
        if options.get("padding_idx") is not None:
            with torch.no_grad():
                pair[-1].weight[options["padding_idx"]] = 5
    return pair[0], pair[1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("padding_idx", [None, 3, -1])
@pytest.mark.parametrize("form", ["2-D", "offsets", "last offset"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_embedding_bag_gives_what_that_of_pytorch_gives(mode: str, form: str, padding_idx: Any, dtype: Any) -> None:
    options = {"padding_idx": padding_idx, "include_last_offset": form == "last offset", "dtype": dtype}
    pair = make_pair(mode="sum" if mode == "weighted" else mode, **options)
    assert torch.equal(pair[0].weight, pair[1].weight)
    tolerance = {"atol": 0.1, "rtol": 0.1} if dtype in HALVES else {"atol": 1e-5, "rtol": 1e-5}
    rows, offsets = draw(form)
    for empty in (False, True):
        if empty:
            rows, offsets = rows[:0], None if offsets is None else offsets * 0
        weights = leaves(*[randoms(*rows.shape).to(dtype)] * 2) if mode == "weighted" else (None, None)
        found, expected = (bag(rows, offsets, own) for bag, own in zip(pair, weights, strict=True))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert torch.allclose(found, expected, **tolerance)
        upstream = randoms(*found.shape).to(dtype)
        inputs = [[bag.weight, *([own] if own is not None else [])] for bag, own in zip(pair, weights, strict=True)]
        results = zip((found, expected), inputs, strict=True)
        ours, theirs = (torch.autograd.grad(out, own, upstream) for out, own in results)
        for own, other in zip(ours, theirs, strict=True):
            assert torch.allclose(own, other, **tolerance)
        if padding_idx is not None:
            assert not ours[0][padding_idx].any()


@pytest.mark.filterwarnings("ignore")  # from the compiler
@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_embedding_bag_refuses_negative_indices_as_that_of_pytorch_does(dtype: Any, padding_idx: Any) -> None:
    ours, theirs = make_pair(mode="sum", padding_idx=padding_idx)
    rows = torch.tensor([[2, 3], [5, -1]], dtype=dtype)
    with pytest.raises(IndexError, match=r"^EmbeddingBag: input\[1, 1\] = -1 is out of range .* \(valid: 0\.\.19\)$"):
        ours(rows)
    with pytest.raises(IndexError, match=r"valid: 0\.\.19"):
        ours(rows.abs() + 15)
    for transformed in (torch.vmap(ours), torch.compile(ours, backend="eager")):
        with pytest.raises(IndexError, match="out of range"):
            transformed(rows[:, None])
    with pytest.raises(RuntimeError, match=r"index_size|valid range|found idx"):
        theirs(rows.long())


def test_embedding_bag_checks_indices_against_its_weight() -> None:
    bag = gst.EmbeddingBag(5, 2, mode="sum")
    wide = torch.arange(14.0).reshape(7, 2)
    rows = torch.tensor([[6, 0]])
    found = torch.func.functional_call(bag, {"weight": wide}, (rows,))
    assert found.tolist() == [[12, 14]]
    with pytest.raises(IndexError, match="out of range"):
        torch.vmap(lambda i: torch.func.functional_call(bag, {"weight": wide}, (i,)))(torch.tensor([[[6, -1]]]))
    for dtype in (torch.uint8, torch.uint16):
        with pytest.raises(IndexError, match=r"input\[0, 1\] = 200 is .* \(valid: 0\.\.4\)"):
            bag(torch.tensor([[0, 200]], dtype=dtype))
    for other in (torch.tensor([[0.0, -1.0]]), torch.tensor([[0j]]), torch.tensor([[True]])):
        with pytest.raises(TypeError, match="input must be integers"):
            bag(other)


def test_embedding_bag_has_the_state_and_the_words_of_that_of_pytorch() -> None:
    ours, theirs = make_pair(padding_idx=-1, mode="sum", dtype=torch.float64)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.weight.data += 1
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours.weight, theirs.weight)
    frozen = gst.EmbeddingBag.from_pretrained(theirs.weight.data, mode="max")
    assert type(frozen) is gst.EmbeddingBag
    assert not frozen.weight.requires_grad
    assert torch.equal(frozen(torch.tensor([[1, 2]]))[0], theirs.weight[1:3].max(0).values)


@pytest.mark.parametrize("padding_idx", [None, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_has_both_derivatives(mode: str, padding_idx: Any) -> None:
    bag = gst.EmbeddingBag(5, 2, mode=mode, padding_idx=padding_idx, dtype=torch.float64)
    rows, offsets = torch.tensor([0, 4, 2, 2, 1, 0]), torch.tensor([0, 2, 2, 3])

    def call(table: Any, weights: Any = None) -> Any:
        return torch.func.functional_call(bag, {"weight": table}, (rows, offsets, weights))

    inputs = leaves(randoms(5, 2), *([randoms(6)] if mode == "sum" else []))
    assert gradcheck(call, inputs)
    assert gradgradcheck(call, inputs)


def test_equal_maxima_share_the_gradient() -> None:
    bag = gst.EmbeddingBag.from_pretrained(torch.ones(3, 1), freeze=False, mode="max")
    bag(torch.tensor([[0, 1]])).sum().backward()
    assert bag.weight.grad.flatten().tolist() == [0.5, 0.5, 0]


def test_what_lies_behind_the_last_offset_is_in_no_bag() -> None:
    bag = gst.EmbeddingBag.from_pretrained(torch.arange(4.0).reshape(4, 1), mode="sum", include_last_offset=True)
    assert bag(torch.tensor([1, 2, 3]), torch.tensor([0, 1, 2])).tolist() == [[1], [2]]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # from the compiler
@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_is_compiled_and_exported(mode: str, padding_idx: Any) -> None:
    torch._dynamo.reset()
    bag = gst.EmbeddingBag(10, 4, mode=mode, padding_idx=padding_idx)
    compiled = torch.compile(bag, fullgraph=True, dynamic=True, backend="aot_eager")
    few, more = torch.tensor([3, 0, 9, 3, 3, 1]), torch.arange(9)
    pairs = [(few, torch.tensor([0, 2, 5])), (more, torch.tensor([0, 0, 4, 6]))]
    members, bags = torch.export.Dim("members"), torch.export.Dim("bags")
    program = torch.export.export(bag, pairs[0], dynamic_shapes=({0: members}, {0: bags})).module()
    for rows, offsets in pairs:
        expected = bag(rows, offsets)
        assert torch.allclose(compiled(rows, offsets), expected)
        assert torch.allclose(program(rows, offsets), expected)
        gradients = [
            torch.autograd.grad(call(rows, offsets).sin().sum(), own.weight)[0]
            for call, own in ((compiled, bag), (program, program), (bag, bag))
        ]
        assert torch.allclose(gradients[0], gradients[2])
        assert torch.allclose(gradients[1], gradients[2])
    assert torch.allclose(compiled(more.reshape(3, 3)), bag(more.reshape(3, 3)))


@pytest.mark.parametrize("padding_idx", [None, 3])
def test_mistakes_with_an_embedding_bag(padding_idx: Any) -> None:
    bag = gst.EmbeddingBag(10, 4, mode="sum", padding_idx=padding_idx)
    rows = torch.tensor([1, 2, 3])
    text = r"EmbeddingBag: input\[0, 2\] = 13 is out of range for axis 0 of weight with size 10 \(valid: 0..9\)"
    with pytest.raises(OpIndexError, match=text) as caught:
        bag(torch.tensor([[1, 3, 13]]))
    assert (caught.value.op, caught.value.input, caught.value.positions) == ("EmbeddingBag", "input", ((0, 2),))
    with pytest.raises(OpTypeError, match="EmbeddingBag: input must be integers, not "):
        bag(torch.ones(1, 2))
    for offsets, kind, text in (
        ([1, 2], OpValueError, "offsets must begin with 0, not 1"),
        ([0, 2, 1], OpValueError, r"offsets\[2\] = 1 comes after 2"),
        ([0, 4], OpIndexError, r"offsets\[1\] = 4 is out of range for 3 members"),
        ([[0]], OpValueError, "offsets must have one dimension"),
    ):
        with pytest.raises(kind, match=f"EmbeddingBag: .*{text}"):
            bag(rows, torch.tensor(offsets))
    for wrong in ((rows,), (rows.reshape(1, 3), torch.tensor([0])), (rows[0],), (rows[0], torch.tensor([0]))):
        with pytest.raises(OpValueError, match="EmbeddingBag: input must have one dimension with offsets, and two or"):
            bag(*wrong)
    with pytest.raises(OpValueError, match=r"EmbeddingBag: per_sample_weights has shape \(3, 1\)"):
        bag(rows.reshape(1, 3), per_sample_weights=torch.ones(3, 1))


@pytest.mark.parametrize("option", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}, {"sparse": True}])
def test_what_an_embedding_bag_does_not_do_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match=f"EmbeddingBag: {next(iter(option))} is not supported"):
        gst.EmbeddingBag(10, 4, **option)
    with pytest.raises(NotImplementedError, match="is not supported"):
        gst.EmbeddingBag.from_pretrained(torch.ones(10, 4), **option)
    with pytest.raises(OpValueError, match="mode must be one of 'sum', 'mean', 'max', not 'add'"):
        gst.EmbeddingBag(10, 4, mode="add")
    with pytest.raises(NotImplementedError, match="per_sample_weights is allowed only with mode='sum', not 'mean'"):
        gst.EmbeddingBag(10, 4)(torch.zeros(1, 2, dtype=torch.int64), per_sample_weights=torch.ones(1, 2))
