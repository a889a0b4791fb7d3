"""The kernels for tensors on other devices, against the oracle. They run on the CPU, and on a GPU if there is one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gatherscatter as gs
import gatherscatter.torch as gst
from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS
from gatherscatter.operation import Form, Kernel, make_operation
from gatherscatter.oracle import array_functions
from gatherscatter.oracle.arithmetic import is_reducible
from gatherscatter.torch import segment
from gatherscatter.torch.adapter import DEVICE
from gatherscatter.torch.device import kernels
from gatherscatter.torch.prepared import prepare
from gatherscatter.torch.segment import scatter

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
GATHERS = ("gather", "gather_elements", "gather_nd")
SCATTERS = ("scatter_update", "scatter_elements", "scatter_nd")
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.device, needs_cuda])])
def device(request):
    return request.param


@pytest.fixture(autouse=True)
def deterministic():
    """No operator that is used warns or raises."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def draw_values(rng, shape, dtype):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("uint"):
        top = rng.integers(0, 2, shape).astype(dtype) << np.array(8 * np.dtype(dtype).itemsize - 1, dtype)
        return (rng.integers(0, 7, shape).astype(dtype) + top).astype(dtype)
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        return rng.choice([info.min, info.max, -3, -1, 0, 1, 2, 5], shape).astype(dtype)
    values = rng.standard_normal(shape) * 4
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    else:
        values = np.where(rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -0.0, 0.0], shape), values)
    return values.astype(dtype)


def draw_indices(rng, shape, size, mode, dtype):
    low, high = (-size, size) if mode == "raise" else (-2 * size - 1, 2 * size + 2)
    return rng.integers(max(low, 0) if dtype.startswith("u") else low, max(high, 1), shape).astype(dtype)


def move(name, data, indices, *updates, **options):
    return kernels.run(make_operation(name, options), data, indices, *updates)


def reduce(data, indices, **options):
    names = ("offsets", "segment_ids", "indptr", "weights", "default")
    inputs = {name: options.pop(name) for name in names if name in options}
    return kernels.gather_reduce(make_operation("gather_reduce", options), data, indices, **inputs)


def draw_call(rng, name, mode, index_type, *, batched=True):
    """Draw the shape of data, indices, the shape of the slots, and the keywords of a call."""
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    if Kernel(name).form == Form.TUPLES:
        batch = int(rng.integers(0, len(shape))) if batched and name in GATHERS else 0
        k = int(rng.integers(0, len(shape) - batch + 1))
        lead = (*shape[:batch], *rng.integers(0, 6, rng.integers(0 if not batch else 1, 3)))
        columns = [draw_indices(rng, lead, size, mode, index_type) for size in shape[batch : batch + k]]
        indices = np.stack(columns, -1) if k else np.zeros((*lead, 0), index_type)
        return shape, indices, (*lead, *shape[batch + k :]), {"batch_dims": batch} if batch else {}
    axis = int(rng.integers(-len(shape), len(shape)))
    size = shape[axis]
    if Kernel(name).form == Form.LANES:
        box = tuple(
            int(rng.integers(0, n + 1)) if d != axis % len(shape) else int(rng.integers(0, 7))
            for d, n in enumerate(shape)
        )
        return shape, draw_indices(rng, box, size, mode, index_type), box, {"axis": axis}
    batch = int(rng.integers(0, axis % len(shape) + 1)) if name == "gather" else 0
    lead = (*shape[:batch], *rng.integers(0, 6, rng.integers(0, 3)))
    indices = draw_indices(rng, lead, size, mode, index_type)
    slots = (*shape[: axis % len(shape)], *lead[batch:], *shape[axis % len(shape) + 1 :])
    return shape, indices, slots, {"axis": axis, **({"batch_dims": batch} if batch else {})}


def as_tensor(array, device):
    return torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape).to(device)


def assert_same(made, wanted, *, rounds, signs=True):
    """``signs``: whether zeros have the same signs. Minima and maxima have a separate test."""
    made = made.cpu().resolve_conj().numpy()
    assert made.dtype == wanted.dtype
    assert made.shape == wanted.shape
    if not rounds:
        bits = f"V{wanted.itemsize}"
        same = np.frombuffer(made.tobytes(), bits) == np.frombuffer(wanted.tobytes(), bits)
        if wanted.dtype.kind == "f":
            same |= (np.isnan(made) & np.isnan(wanted)).ravel()
            same |= (not signs) & ((made == 0) & (wanted == 0)).ravel()
        assert same.all()
    else:
        loose = {2: 2e-2, 4: 1e-4, 8: 1e-4 if wanted.dtype.kind == "c" else 1e-12, 16: 1e-12}[wanted.itemsize]
        np.testing.assert_allclose(made, wanted, rtol=loose, atol=loose * 8)


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_gathers_are_those_of_the_oracle(device, name, mode):
    rng = np.random.default_rng([GATHERS.index(name), len(mode)])
    for dtype in TYPES:
        for index_type in ("int64", rng.choice(["int8", "uint8", "int32", "uint16", "uint64"])):
            shape, indices, _, keywords = draw_call(rng, name, mode, index_type)
            data = draw_values(rng, shape, dtype)
            wanted = array_functions.array_call(name, data, indices, mode=mode, **keywords)
            made = move(name, as_tensor(data, device), as_tensor(indices, device), mode=mode, **keywords)
            assert_same(made, wanted, rounds=False)


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
def test_scatters_are_those_of_the_oracle(device, name, reduction):
    rng = np.random.default_rng([SCATTERS.index(name), REDUCTIONS.index(reduction)])
    for dtype in TYPES:
        if not is_reducible(reduction, dtype):
            continue
        for mode in ("raise", "wrap", "clip", "drop"):
            shape, indices, slots, keywords = draw_call(rng, name, mode, "int64")
            data, updates = draw_values(rng, shape, dtype), draw_values(rng, slots, dtype)
            how = {"reduction": reduction, "mode": mode, **keywords}
            if reduction != "none" and rng.random() < 0.5:
                how["include_self"] = False
            if dtype == "float16" and reduction in ("add", "mul", "mean", "sub") and rng.random() < 0.5:
                how["accumulate"] = "wide"
            rounds = np.dtype(dtype).kind in "fc" and reduction in ("add", "sub", "mul", "mean")
            wanted = array_functions.array_call(name, data, indices, updates, **how)
            tensors = (as_tensor(each, device) for each in (data, indices, updates))
            made = move(name, *tensors, **how)
            assert_same(made, wanted, rounds=rounds, signs=reduction not in ("min", "max"))


@pytest.mark.parametrize(("count", "size"), [(1, 1), (1000, 1), (1000, 7), (4097, 5000), (300, 300)])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max", "mean"])
def test_many_updates_of_few_targets(device, count, size, reduction):
    rng = np.random.default_rng(count)
    rows = np.where(rng.random(count) < 0.5, 0, rng.integers(0, size, count))
    data, updates = rng.integers(-9, 9, (size, 3)), rng.integers(-9, 9, (count, 3))
    made = move("scatter_update", *(as_tensor(x, device) for x in (data, rows, updates)), reduction=reduction)
    assert_same(made, gs.scatter_update(data, rows, updates, reduction=reduction), rounds=False)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_extrema_do_not_depend_on_the_order_of_updates(device, dtype):
    zero, nan, most = 0.0, float("nan"), float("inf")
    groups = [[zero, -zero], [1.0, nan, -1.0], [most, -most], [-nan, most], [-5.0, -2.0, -3.0], [-zero, -1.0]]
    wanted = {"min": [-zero, nan, -most, nan, -5.0, -1.0], "max": [zero, nan, most, nan, -2.0, -zero]}
    labels = torch.tensor([g for g, values in enumerate(groups) for _ in values], device=device)
    values = torch.tensor([x for each in groups for x in each], dtype=dtype, device=device)
    for reduction, results in wanted.items():
        for order in (torch.arange(len(labels)), torch.arange(len(labels)).flip(0)):
            at = order.to(device)
            start = torch.zeros(len(groups), dtype=dtype, device=device)
            how = {"reduction": reduction, "include_self": False}
            made = move("scatter_update", start, labels[at], values[at], **how).cpu().float()
            assert_same(made, np.array(results, np.float32), rounds=False)
            assert torch.equal(made.signbit() & (made == 0), torch.tensor([str(x) == "-0.0" for x in results]))
    for own, new in ((zero, -zero), (-zero, zero)):
        data = torch.tensor([own], dtype=dtype, device=device)
        for reduction, sign in (("min", True), ("max", False)):
            made = move("scatter_update", data, labels[:1], torch.full_like(data, new), reduction=reduction)
            assert bool(made.signbit()) == sign


def test_means_of_64_bit_integers_are_exact(device):
    for dtype in (torch.int64, torch.uint64):
        info = np.iinfo(str(dtype).removeprefix("torch."))
        values = np.array([info.max, info.max, info.max - 1, info.min, 5], info.dtype)
        rows, zeros = np.array([0, 0, 0, 1, 1]), np.zeros(2, info.dtype)
        made = move("scatter_update", *(as_tensor(x, device) for x in (zeros, rows, values)),
                               reduction="mean", include_self=False)  # fmt: skip
        assert [int(x) for x in made.cpu().numpy()] == [(3 * info.max - 1) // 3, (info.min + 5) // 2]


@pytest.mark.parametrize("form", ["packed", "offsets", "indptr", "segment_ids"])
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
def test_bags(device, form, reduction):
    rng = np.random.default_rng(len(form) + len(reduction))
    for mode in ("raise", "wrap", "clip", "fill"):
        data = rng.integers(-4, 9, (5, 2, 3)).astype(rng.choice(["int32", "float64"]))
        members = draw_indices(rng, (4, 3) if form == "packed" else 12, 5, mode, "int64")
        bags = {
            "packed": {},
            "offsets": {"offsets": np.array([0, 3, 3, 9])},
            "indptr": {"indptr": np.array([0, 3, 3, 9, 12])},
            "segment_ids": {"segment_ids": rng.integers(0, 6, 12), "num_segments": 7},
        }[form]
        weights = rng.integers(-2, 3, members.shape).astype(data.dtype)
        for factors in (None, weights):
            wanted = gs.gather_reduce(data, members, weights=factors, reduction=reduction, mode=mode, default=7, **bags)
            tensors = {n: as_tensor(x, device) if isinstance(x, np.ndarray) else x for n, x in bags.items()}
            given = None if factors is None else as_tensor(factors, device)
            made = reduce(as_tensor(data, device), as_tensor(members, device), weights=given,
                                         reduction=reduction, mode=mode, default=7, **tensors)  # fmt: skip
            assert_same(made, wanted, rounds=data.dtype.kind == "f")


@pytest.mark.parametrize(
    ("bags", "text"),
    [
        ({"offsets": [0, 4, 2]}, "offsets must not decrease, but offsets[2] = 2 comes after 4"),
        ({"offsets": [1, 2]}, "offsets must begin with 0, not 1"),
        ({"indptr": [0, 4]}, "indptr must end with 5, the number of members, not 4"),
        ({"segment_ids": [0, 1, 9, 0, 0], "num_segments": 3}, "segment_ids[2] = 9 is out of range"),
        ({"segment_ids": [0, 1]}, "segment_ids has shape (2,), but must have (5,)"),
        ({}, "define the bags in exactly one way"),
    ],
)
def test_errors_of_bags(device, bags, text):
    tensors = {n: torch.tensor(x, device=device) if isinstance(x, list) else x for n, x in bags.items()}
    with pytest.raises((ValueError, IndexError)) as found:
        reduce(torch.zeros(3, 2, device=device), torch.tensor([0, 1, 2, 0, 1], device=device), **tensors)
    assert text in str(found.value)


@pytest.mark.parametrize("name", [*GATHERS, *SCATTERS])
def test_errors_name_the_position_and_nothing_is_written(device, name):
    data = torch.arange(12.0, device=device).reshape(3, 4)
    indices = torch.tensor([[0, 1], [2, 9]] if Kernel(name).form != Form.TUPLES else [[0, 1], [1, 4]], device=device)
    others = []
    if name in SCATTERS:
        others = [torch.ones({"scatter_nd": (2,), "scatter_elements": (2, 2)}.get(name, (2, 2, 4)), device=device)]
    options = {"reduction": "add"} if others else {}
    before = data.clone()
    with pytest.raises(IndexError) as wanted:
        getattr(gs, name)(*(each.cpu().numpy() for each in (data, indices, *others)), **options)
    arrays = {"data": data, "indices": indices, **dict(zip(["updates"], others, strict=False))}
    arrays["out"] = data if others else None
    with pytest.raises(gs.OpIndexError) as found:
        DEVICE.run(name, name, arrays, options, None)
    assert str(found.value) == str(wanted.value)
    assert found.value.positions == wanted.value.positions
    assert found.value.values == wanted.value.values
    assert torch.equal(data, before)


def test_refusals(device):
    data, rows, ones = (torch.zeros(3, device=device), torch.tensor([0], device=device), torch.ones(1, device=device))
    with pytest.raises(TypeError, match=r"accumulate='exact' runs only on the CPU, but data is on .*; use accumulate="):
        move("scatter_update", data, rows, ones, reduction="add", accumulate="exact")
    with pytest.raises(TypeError, match="updates of type float64 can't be stored in data of type int64"):
        move("scatter_update", data.long(), rows, ones.double())
    with pytest.raises(ValueError, match="300"):
        move("scatter_update", data.to(torch.int8), rows, ones.long() * 300)
    with pytest.raises(ValueError, match="updates has shape"):
        move("scatter_update", data, rows, torch.ones(2, device=device))
    with pytest.raises(TypeError, match="indices must be integers"):
        move("gather", data, ones)
    with pytest.raises(TypeError, match="indices is on the meta device and has no values"):
        move("gather", data, rows.to("meta"))
    summed = move("scatter_update", data.long(), rows, rows + 4, reduction="add", accumulate="exact")
    assert summed.tolist() == [4, 0, 0]


def test_results_do_not_change_between_runs(device):
    rows = torch.randint(0, 50, (20_000,), device=device)
    updates = torch.randn(20_000, 8, device=device)
    data = torch.zeros(50, 8, device=device)
    first = move("scatter_update", data, rows, updates, reduction="add")
    for _ in range(3):
        assert torch.equal(move("scatter_update", data, rows, updates, reduction="add"), first)
    exact = torch.zeros(50, 8, dtype=torch.float64).index_add_(0, rows.cpu(), updates.cpu().double())
    torch.testing.assert_close(first.cpu().double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_nothing_waits_for_the_device_unless_indices_raise(device, monkeypatch):
    """On a CUDA device, PyTorch reports each wait. On the CPU, the conversions to Python numbers are counted."""
    waits = []
    original = torch.Tensor.__bool__
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda self: waits.append(1) or original(self))
    data, updates = torch.zeros(4, 3, device=device), torch.ones(2, 3, device=device)
    rows = torch.tensor([1, 9], device=device)
    try:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("error")
        for reduction in REDUCTIONS:
            move("scatter_update", data, rows, updates, reduction=reduction, mode="drop")
        for mode in ("wrap", "clip", "fill"):
            move("gather", data, rows, mode=mode)
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")
    assert waits == []
    move("scatter_update", data, rows % 4, updates, reduction="add", mode="raise")
    assert waits == [1]


@pytest.mark.parametrize(
    ("axis", "shape", "indices"), [(None, (3, 4), [[0, 1], [2, -1], [0, 1]]), (1, (2, 3), [[2, 0], [2, -1]])]
)
def test_prepared_indices(device, axis, shape, indices):
    own, wanted = (
        prepare(torch.tensor(indices, device=device), shape, axis),
        gs.prepare(np.array(indices), shape, axis=axis),
    )
    data = torch.randn(*shape, 2, dtype=torch.float64, device=device, requires_grad=True)
    gathered = own.gather(data)
    assert_same(gathered.detach(), wanted.gather(data.detach().cpu().numpy()), rounds=False)
    updates = torch.randn(gathered.shape, dtype=torch.float64, device=device, requires_grad=True)
    numbers = updates.detach().cpu().numpy()
    assert_same(own.sum(updates).detach(), wanted.sum(numbers), rounds=True)
    names = ("sum", "mul", "mean", "min", "max", "count", "argmin", "argmax")
    for made, expected in zip(own.reduce(updates, names), wanted.reduce(numbers, names), strict=True):
        assert_same(made, np.ascontiguousarray(expected), rounds=True)
    for reduction in ("none", "add", "max"):
        made = own.scatter(data, updates, reduction=reduction).detach()
        assert_same(made, wanted.scatter(data.detach().cpu().numpy(), numbers, reduction=reduction), rounds=True)
    for function, values in ((own.gather, data), (own.sum, updates)):
        assert torch.autograd.gradcheck(function, values)
        assert torch.autograd.gradgradcheck(function, values)
    assert torch.equal(own.counts.cpu(), torch.from_numpy(wanted.counts))
    assert np.from_dlpack(own.starts.cpu()).tolist() == own.starts.tolist()


def test_prepared_indices_are_sorted_once(device, monkeypatch):
    """The CPU's own kernels do not sort by `torch.sort`."""
    own = prepare(torch.tensor([2, 0, 2], device=device), 3)
    data = torch.zeros(3, dtype=torch.float64, device=device, requires_grad=True)
    updates = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, device=device, requires_grad=True)
    assert own.starts.tolist() == [0, 1, 1, 3]
    monkeypatch.setattr(torch, "sort", None)
    for reduction in ("add", "sub", "min", "max", "mean", "none"):
        own.scatter(data, updates, reduction=reduction).sum().backward()
    own.gather(data).sum().backward()
    own.rows[:] = 7  # a copy
    assert own.sum(updates).tolist() == [2, 0, 5]


def test_prepared_in_inference_mode_and_used_for_gradients(device):
    with torch.inference_mode():
        own = prepare(torch.tensor([[2, 0], [2, 1]], device=device), (3, 2))
        own.propagate(torch.ones(2, 4, device=device))
    data = torch.ones(2, 4, device=device, requires_grad=True)
    own.propagate(data).sum().backward()
    assert data.grad.tolist() == [[1] * 4] * 2
    table = torch.ones(3, 2, device=device, requires_grad=True)
    own.gather(table).sum().backward()
    assert table.grad.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_a_single_prepared_index(device):
    own = prepare(torch.tensor(1, device=device), 3, 0)
    assert own.gather(torch.arange(3.0, device=device)).item() == 1
    assert own.sum(torch.tensor(5.0, device=device)).tolist() == [0, 5, 0]


def test_means_of_prepared_integers_are_refused_as_on_the_cpu(device):
    updates = torch.tensor([1, 2], device=device)
    with pytest.raises(TypeError, match="the mean of int64 can't be computed in one pass"):
        prepare(torch.tensor([0, 0], device=device), 2).reduce(updates, "mean")


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
@pytest.mark.parametrize("transpose", [False, True])
def test_propagate_sorts_only_once(device, reduction, transpose, monkeypatch):
    pairs = torch.tensor([[0, 1], [0, 2], [2, 1], [1, 1], [0, 1]], device=device)
    own, wanted = prepare(pairs, (3, 4)), gs.prepare(pairs.cpu().numpy(), (3, 4))
    data = torch.randn(3 if transpose else 4, 2, dtype=torch.float64, device=device, requires_grad=True)
    weights = torch.randn(5, dtype=torch.float64, device=device, requires_grad=True)

    def propagate(data, weights):
        return own.propagate(data, weights, reduction, transpose=transpose)

    given = data.detach().cpu().numpy(), weights.detach().cpu().numpy()
    assert_same(
        propagate(data, weights).detach(), wanted.propagate(*given, reduction, transpose=transpose), rounds=True
    )
    assert torch.autograd.gradcheck(propagate, (data, weights))
    assert torch.autograd.gradgradcheck(propagate, (data, weights))
    if reduction == "add":
        monkeypatch.setattr(torch, "sort", None)
        propagate(data, weights).sum().backward()


@pytest.mark.skipif(not USES_TORCH_OPERATORS and not torch.cuda.is_available(), reason="needs a device")
class TestPublicFunctions:
    """With GATHERSCATTER_TORCH_OPERATORS=1, these run on the CPU."""

    @pytest.fixture
    def device(self):
        return "cpu" if USES_TORCH_OPERATORS else "cuda"

    def test_array_functions_lists_and_out(self, device):
        data = torch.zeros(3, device=device)
        made = gs.scatter_nd(data, [[1], [1]], [2.0, 5.0], reduction="add")
        assert made.device == data.device
        assert made.tolist() == [0, 7, 0]
        assert gs.scatter_nd(data, [[1]], [4.0], out=data) is data
        assert data.tolist() == [0, 4, 0]
        assert gs.gather_reduce(data, [[0, 1], [1, 1]]).tolist() == [4, 8]
        for bad in (torch.zeros(2, device=device), torch.zeros(3, dtype=torch.int64, device=device)):
            with pytest.raises((TypeError, ValueError), match="out has"):
                gs.scatter_nd(data, [[1]], [4.0], out=bad)
        with pytest.raises(TypeError, match="convert one of them"):
            gs.gather(data, np.array([0]))

    def test_functions_of_torch_and_lists(self, device):
        data = torch.zeros(3, device=device, requires_grad=True)
        made = gst.scatter_update(data, [1, 1], [2.0, 5.0], reduction="mean")
        made.sum().backward()
        np.testing.assert_allclose(data.grad.cpu(), [1, 1 / 3, 1])
        with pytest.raises(TypeError, match="has a gradient, which would be lost"):
            gs.gather(data, [0])

    def test_functions_of_torch_scatter(self, device):
        src, index = (
            torch.tensor([[1.0, 2.0], [5.0, 6.0], [3.0, 8.0]], device=device),
            torch.tensor([1, 0, 1], device=device),
        )
        total, number, best = scatter(src, index, dim=0, reduce=("sum", "count", "argmax"))
        assert total.tolist() == [[5, 6], [4, 10]]
        assert number.tolist() == [1, 2]
        assert best.tolist() == [[1, 1], [2, 2]]
        with pytest.raises(IndexError, match=r"scatter: index\[1\] = 7 is out of range for dim_size 2"):
            scatter(src, torch.tensor([1, 7, 0], device=device), dim=0, dim_size=2)

    def test_compiled_and_batched(self, device):
        data, rows = torch.randn(4, 3, device=device), torch.tensor([[0, 1], [3, 3]], device=device)
        made = torch.func.vmap(lambda row: gst.gather(data, row))(rows)
        assert torch.equal(made, data[rows])

    @pytest.mark.parametrize("mode", ["linear", "circular"])
    def test_tensor_scatter(self, device, mode):
        past, update = torch.zeros(2, 3, 4, device=device), torch.randn(2, 2, 4, device=device)
        starts = torch.tensor([1, 0] if mode == "linear" else [2, -4], device=device)
        made = gst.tensor_scatter(past, update, starts, mode=mode)
        assert_same(
            made, gs.tensor_scatter(*(x.cpu().numpy() for x in (past, update, starts)), mode=mode), rounds=False
        )
        with pytest.raises(IndexError, match=r"write_indices\[0\] = 2 is out of range"):
            gst.tensor_scatter(past, update, torch.tensor([2, 0], device=device))

    @pytest.mark.parametrize(
        "key",
        [
            (torch.tensor([1, 0, 1]),),
            (slice(None), [1, 1]),
            (torch.tensor([0, 1]), slice(None, None, -1), torch.tensor([3, -1])),
            (..., slice(None, None, -2)),
            (None, torch.tensor([[0], [1]]), torch.tensor([2, 0])),
            (torch.tensor([1, 0]), 1, slice(3, 0, -1)),
            (torch.tensor([[True, False, True], [False, False, True]]),),
            (0,),
        ],
    )
    def test_at(self, device, key):
        data = torch.arange(24.0, device=device).reshape(2, 3, 4)
        own = tuple(part.to(device) if isinstance(part, torch.Tensor) else part for part in key)
        plain = tuple(part.numpy() if isinstance(part, torch.Tensor) else part for part in key)
        array = data.cpu().numpy()
        wanted = gs.at(array)[plain].get()
        assert_same(gs.at(data)[own].get(), wanted, rounds=False)
        values = np.arange(wanted.size, dtype=np.float32).reshape(wanted.shape)
        for method in ("set", "add", "sub", "mul", "min", "max", "mean"):
            made = getattr(gs.at(data)[own], method)(as_tensor(values, device))
            assert_same(made, getattr(gs.at(array)[plain], method)(values), rounds=True)
        assert gs.at(data)[own].set(5.0, out=data) is data
        assert_same(data, gs.at(array)[plain].set(5.0), rounds=False)
        with pytest.raises(IndexError, match=r"at.add: key\[0\]\[1\] = 7 is out of range"):
            gs.at(data)[torch.tensor([0, 7], device=device)].add(1.0)


STATISTICS = ("sum", "mean", "var", "min", "first", "nanlast", "argmax", "nanargmin", "len")


@pytest.mark.parametrize("func", STATISTICS)
def test_statistics(device, func):
    values, labels = torch.tensor([[1.0, 4.0], [5.0, float("nan")], [3.0, 2.0]]), torch.tensor([1, 0, 1])
    made = gst.aggregate(labels.to(device), values.to(device), func, 2)
    assert made.device.type == device
    assert_same(made, gs.aggregate(labels.numpy(), values.numpy(), func, 2, axis=0), rounds=True)


def test_new_tensors_are_on_the_device_of_the_arguments(device):
    """A default device without values shows each tensor that is made without naming a device."""
    data, rows = torch.ones(3, 2, device=device), torch.tensor([1, 0, 1], device=device)
    with torch.device("meta"):
        for reduction in REDUCTIONS:
            move("scatter_update", data, rows, data, reduction=reduction)
        for name in GATHERS:
            move(name, data, torch.zeros((1, 1), dtype=torch.int64, device=device))
        for func in STATISTICS:
            assert gst.aggregate(rows, data, func, 2).device.type == device
        for name in ("softmax", "log_softmax", "logsumexp", "std"):
            made = getattr(segment, f"scatter_{name}")(data, rows, 0)
            assert made.device.type == device
        for reduction in ("sum", "mean", "max"):
            assert scatter(data, rows, 0, dim_size=2, reduce=reduction)[0].device.type == device
        made = gst.scatter_update(data, [0, 0], [[1.0, 2.0], [3.0, 4.0]], reduction="add")
        assert made.device.type == device
        assert gs.gather_reduce(data, [[0, 1], [2, 2]]).device.type == device
        prepared = prepare(rows, 2, 0)
        assert prepared.reduce(data, ("mean", "argmax", "count"))[1].device.type == device
        reduce(data, rows, segment_ids=rows, reduction="mean", num_segments=2)


def test_meta_tensors_give_shapes():
    data, rows = torch.empty(5, 3, device="meta"), torch.empty(4, dtype=torch.int64, device="meta")
    assert gst.gather(data, rows).shape == (4, 3)
    assert gst.scatter_update(data, rows, data.new_empty(4, 3), reduction="add").device.type == "meta"
    assert gst.gather_reduce(data, rows, offsets=rows).shape == (4, 3)
    assert scatter(data, torch.empty(5, dtype=torch.int64, device="meta"), dim=0, dim_size=2).shape == (2, 3)
