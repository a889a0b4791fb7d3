"""gatherscatter.torch in PyTorch itself: values, gradients, transformations, compiler, export."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter.errors import OpIndexError, OpTypeError
from tests.support.devices import assert_equal

torch: Any = pytest.importorskip("torch")
gst: Any = pytest.importorskip("gatherscatter.torch")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, jacrev, jvp, vmap  # noqa: E402

from gatherscatter.torch import segment  # noqa: E402

REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")

# Gathers: function, shape of data, indices, options.
GATHERS: list[tuple[str, tuple[int, ...], Any, dict[str, Any]]] = [
    ("gather", (4, 3), [[1, 3], [1, -4]], {}),
    ("gather", (2, 3, 4), [2, 0, 2], {"axis": -2}),
    ("gather", (2, 3, 4), 1, {"axis": 1}),
    ("gather", (2, 3, 4), [[2, 0], [1, 1]], {"axis": 2, "batch_dims": 1}),
    ("gather", (2, 3, 4), [[2, 0], [1, 1]], {"axis": 1, "batch_dims": 1}),
    ("gather", (2, 3, 4), [[[2, 0]], [[1, 1]]], {"axis": 2, "batch_dims": 1}),
    ("gather", (2, 3, 4), [[[2, 0]], [[1, 1]]], {"axis": 2, "batch_dims": -2}),
    ("gather", (2, 3, 4), [2, 0], {"axis": 1, "batch_dims": 1}),
    ("gather", (2, 3), [2, 9, -7], {"axis": 1, "mode": "fill"}),
    ("gather", (2, 3), [2, 9, -7], {"axis": 1, "mode": "wrap"}),
    ("gather", (2, 3), [2, 9, -7], {"axis": 1, "mode": "clip"}),
    ("gather_elements", (4, 3), [[0, 1, 2], [3, 3, -1]], {}),
    ("gather_elements", (4, 3), [[0, 1], [2, 2]], {"axis": 1}),
    ("gather_nd", (4, 3), [[0, 1], [3, -1], [0, 1]], {}),
    ("gather_nd", (4, 3), [[0], [3], [0]], {}),
    ("gather_nd", (2, 3, 4), [[[0], [1]], [[2], [2]]], {"batch_dims": 1}),
    ("gather_nd", (4, 3), np.zeros((2, 0), np.int64), {}),
]

# Scatters: function, shape of data, indices, shape of updates, options.
SCATTERS: list[tuple[str, tuple[int, ...], Any, tuple[int, ...], dict[str, Any]]] = [
    ("scatter_update", (4, 3), [0, 2, 0], (3, 3), {}),
    ("scatter_update", (2, 4), [[0, 2], [0, -1]], (2, 2, 2), {"axis": 1}),
    ("scatter_update", (2, 4, 2), [[0, 2], [0, -1]], (2, 2, 2, 2), {"axis": -2}),
    ("scatter_elements", (4, 3), [[0, 1, 2], [0, 3, 2]], (2, 3), {}),
    ("scatter_elements", (4, 3), [[0, 1, 0], [1, 1, 2]], (2, 3), {"axis": 1}),
    ("scatter_nd", (4, 3), [[0], [3], [0]], (3, 3), {}),
    ("scatter_nd", (4, 3), [[0, 1], [3, 0], [0, 1]], (3,), {}),
    ("scatter_nd", (4, 3), [[0], [7], [0]], (3, 3), {"mode": "drop"}),
    ("scatter_nd", (2,), np.zeros((3, 0), np.int64), (3, 2), {}),
]


def randoms(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype or torch.float64)


def tensors(*values: Any) -> tuple[Any, ...]:
    return tuple(value.clone().requires_grad_() for value in values)


@pytest.mark.parametrize(("name", "shape", "indices", "options"), GATHERS)
def test_a_gather_and_its_gradients(name: str, shape: Any, indices: Any, options: Any) -> None:
    data = randoms(*shape)

    def call(data: Any) -> Any:
        return getattr(gst, name)(data, indices, **options)

    assert np.array_equal(call(data).numpy(), getattr(gs, name)(data.numpy(), indices, **options))
    assert gradcheck(call, tensors(data))
    assert gradgradcheck(call, tensors(data))


@pytest.mark.parametrize(
    ("reduction", "include_self"), [*itertools.product(REDUCTIONS, [True]), *itertools.product(REDUCTIONS[1:], [False])]
)
@pytest.mark.parametrize(("name", "shape", "indices", "updates_shape", "options"), SCATTERS)
def test_a_scatter_and_its_gradients(
    name: str, shape: Any, indices: Any, updates_shape: Any, options: Any, reduction: str, include_self: bool
) -> None:
    data, updates = randoms(*shape), randoms(*updates_shape, seed=1)

    def call(data: Any, updates: Any) -> Any:
        how = {"reduction": reduction, "include_self": include_self}
        return getattr(gst, name)(data, indices, updates, **how, **options)

    how = {"reduction": reduction, "include_self": include_self}
    expected = getattr(gs, name)(data.numpy(), indices, updates.numpy(), **how, **options)
    assert_equal(call(data, updates).numpy(), expected)
    assert gradcheck(call, tensors(data, updates))
    assert gradgradcheck(call, tensors(data, updates))


def gradients(call: Callable[..., Any], *inputs: Any) -> list[list[float]]:
    inputs = tensors(*inputs)
    return [each.tolist() for each in torch.autograd.grad(call(*inputs).sum(), inputs)]


HALVES = {torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("how", ["sum", "mul", "mean", "min", "max", "std", "logsumexp", "softmax", "log_softmax"])
def test_gradients_of_segments_in_halves_are_those_in_float64(how: str, dtype: Any) -> None:
    source, index = (randoms(8, 3) * 4).round() / 4 + 0.125, torch.tensor([0, 0, 1, 3, 3, 3, 4, 1])
    function = getattr(segment, f"scatter_{how}")
    found = {}
    for kind in (dtype, torch.float64):
        given = source.to(kind).requires_grad_()
        made = function(given, index, 0, dim_size=6)
        made = made[0] if isinstance(made, tuple) else made
        finite = torch.where(made.isfinite(), made, 0)
        (found[kind],) = torch.autograd.grad((finite * finite.detach()).sum(), given)
    half, double = found.values()
    assert half.dtype == dtype
    assert torch.allclose(half.double(), double, rtol=8 * HALVES[dtype], atol=8 * HALVES[dtype])


@pytest.mark.parametrize("how", ["sum", "mul", "mean", "min", "max"])
def test_gradients_of_segments_under_autocast(how: str) -> None:
    layer, index = torch.nn.Linear(3, 3), torch.tensor([0, 0, 1, 3])
    with torch.autocast("cpu", torch.bfloat16):
        made = segment.scatter(layer(randoms(4, 3).float()), index, 0, reduce=how)
    made.float().sum().backward()
    assert layer.weight.grad.isfinite().all()


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("reduction", "own"), [("min", "amin"), ("max", "amax"), ("mean", "mean"), ("mul", "prod")])
def test_gradients_with_ties_and_zeros_are_those_of_pytorch(reduction: str, own: str, include_self: bool) -> None:
    index = torch.tensor([0, 0, 0, 1, 1, 3, 3])
    # If data is not included but equals the result, PyTorch gives it a share of the gradient, which is then lost.
    data = torch.tensor([2.0, 1.0, 5.0, 0.0] if include_self else [7.0, 8.0, 5.0, 7.0])
    updates = torch.tensor([2.0, 2.0, 2.0, 4.0, 0.0, 3.0, 3.0])

    def ours(data: Any, updates: Any) -> Any:
        return gst.scatter_elements(data, index, updates, reduction=reduction, include_self=include_self)

    def theirs(data: Any, updates: Any) -> Any:
        return data.scatter_reduce(0, index, updates, own, include_self=include_self)

    assert gradients(ours, data, updates) == gradients(theirs, data, updates)


def test_data_that_is_not_included_has_no_part_in_a_tie() -> None:
    def call(data: Any, updates: Any) -> Any:
        return gst.scatter_update(data, [0, 0], updates, reduction="max", include_self=False)

    assert gradients(call, torch.full((2,), 2.0), torch.full((2,), 2.0)) == [[0, 1], [0.5, 0.5]]


def test_nan_is_the_extremum_and_has_the_gradient() -> None:
    def call(data: Any, updates: Any) -> Any:
        return gst.scatter_update(data, [0, 0], updates, reduction="max")

    assert gradients(call, torch.zeros(1), torch.tensor([1.0, torch.nan])) == [[0], [0, 1]]


@pytest.mark.parametrize("factors", [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
def test_products_with_zeros_have_both_derivatives(factors: list[float]) -> None:
    values = torch.tensor(factors, dtype=torch.float64)

    def ours(values: Any) -> Any:
        return gst.scatter_update(values[:1], [0, 0], values[1:], reduction="mul").sum()

    def by_hand(values: Any) -> Any:
        return values[0] * values[1] * values[2]

    assert torch.allclose(grad(ours)(values), grad(by_hand)(values))
    assert torch.allclose(jacrev(grad(ours))(values), jacrev(grad(by_hand))(values))


def test_a_product_without_data_asks_nothing_of_data() -> None:
    def call(data: Any, updates: Any) -> Any:
        return gst.scatter_update(data, [1, 1], updates, reduction="mul", include_self=False)

    values = tensors(torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64), torch.tensor([3.0, 4.0], dtype=torch.float64))
    assert gradients(call, *values) == [[1, 0, 1], [4, 3]]
    zero = tensors(torch.zeros(3, dtype=torch.float64), values[1].detach())
    assert gradgradcheck(call, zero)


def test_complex_gradients() -> None:
    data, updates = randoms(3, dtype=torch.complex128), randoms(4, seed=1, dtype=torch.complex128)
    for reduction in ("none", "add", "sub", "mul"):

        def call(data: Any, updates: Any, reduction: str = reduction) -> Any:
            return gst.scatter_update(data, [0, 2, 2, 0], updates, reduction=reduction)

        assert gradcheck(call, tensors(data, updates))


def test_gradients_have_the_types_of_their_inputs() -> None:
    data, updates = tensors(torch.zeros(3, dtype=torch.float64), torch.ones(2, dtype=torch.float32))
    gst.scatter_nd(data, [[0], [1]], updates, reduction="add").sum().backward()
    assert (data.grad.dtype, updates.grad.dtype) == (torch.float64, torch.float32)


# ----------------------------------------------------------------------------------------------------- torch.func

BATCH = 3


def one_by_one(call: Callable[..., Any], in_dims: Any, *inputs: Any) -> Any:
    def pick(batch: int) -> list[Any]:
        return [value if dim is None else value.select(dim, batch) for value, dim in zip(inputs, in_dims, strict=True)]

    return torch.stack([call(*pick(batch)) for batch in range(BATCH)])


BATCHED_GATHERS = [
    ("gather", torch.tensor([0, 2, 0]), {"axis": 0}),
    ("gather", torch.tensor([[0, 2], [1, 1], [2, 0], [1, 1]]), {"axis": 1, "batch_dims": 1}),
    ("gather", torch.tensor([[0, 2], [1, 1], [2, 0], [1, 1]]), {"axis": 1, "batch_dims": -1}),
    ("gather_elements", torch.tensor([[0, 1, 2], [2, 2, 0]]), {"axis": 0}),
    ("gather_nd", torch.tensor([[0], [2], [0]]), {}),
    ("gather_nd", torch.tensor([[[0], [2]], [[1], [1]], [[0], [0]], [[1], [2]]]), {"batch_dims": 1}),
]


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0), (1, 0)])
@pytest.mark.parametrize(("name", "indices", "options"), BATCHED_GATHERS)
def test_vmap_of_a_gather_and_its_gradient(name: str, indices: Any, options: Any, in_dims: Any) -> None:
    batched = torch.stack([indices, indices.flip(0), (indices + 1) % 3])
    data = randoms(BATCH, 4, 3)
    inputs = (data[0] if in_dims[0] is None else data.movedim(0, in_dims[0]), batched if in_dims[1] == 0 else indices)

    def call(data: Any, indices: Any) -> Any:
        return getattr(gst, name)(data, indices, **options)

    gradient = grad(lambda data, indices: call(data, indices).sin().sum())
    assert torch.equal(vmap(call, in_dims)(*inputs), one_by_one(call, in_dims, *inputs))
    assert torch.allclose(vmap(gradient, in_dims)(*inputs), one_by_one(gradient, in_dims, *inputs))


BATCHED_SCATTERS = [
    ("scatter_update", torch.tensor([0, 2, 0]), (3, 4), {"axis": 0}),
    ("scatter_update", torch.tensor([[0, 2], [1, 0]]), (5, 2, 2), {"axis": 1}),
    ("scatter_elements", torch.tensor([[0, 1, 2, 0], [0, 2, 0, 1]]), (2, 4), {"axis": 0}),
    ("scatter_nd", torch.tensor([[0], [2], [0]]), (3, 4), {}),
]


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "mean"])
@pytest.mark.parametrize(("name", "indices", "updates_shape", "options"), BATCHED_SCATTERS)
def test_vmap_of_a_scatter_and_its_gradients(
    name: str, indices: Any, updates_shape: Any, options: Any, reduction: str
) -> None:
    every = (randoms(BATCH, 5, 4), torch.stack([indices, indices.flip(0), (indices + 1) % 3]),
             randoms(BATCH, *updates_shape, seed=1))  # fmt: skip
    one = (every[0][0], indices, every[2][0])

    def call(data: Any, indices: Any, updates: Any) -> Any:
        return getattr(gst, name)(data, indices, updates, reduction=reduction, **options)

    gradient = grad(lambda *inputs: call(*inputs).sin().sum(), argnums=(0, 2))
    for in_dims in list(itertools.product((None, 0), repeat=3))[1:]:
        inputs = [batch if dim == 0 else single for batch, single, dim in zip(every, one, in_dims, strict=True)]
        assert torch.equal(vmap(call, in_dims)(*inputs), one_by_one(call, in_dims, *inputs))
        found = vmap(gradient, in_dims)(*inputs)
        for which in (0, 1):
            expected = one_by_one(lambda *given, which=which: gradient(*given)[which], in_dims, *inputs)
            assert torch.allclose(found[which], expected)


def test_the_gradient_of_a_vmap() -> None:
    data, indices = randoms(BATCH, 4), torch.tensor([0, 3])
    found = grad(lambda data: vmap(lambda row: gst.gather(row, indices))(data).sum())(data)
    assert found.tolist() == [[1, 0, 0, 1]] * BATCH


@pytest.mark.filterwarnings("ignore")  # PyTorch loads rules that include a deprecated function
def test_forward_mode_is_refused_rather_than_wrong() -> None:
    data = randoms(3)
    with pytest.raises(TypeError, match="no derivatives in forward mode"):
        jvp(lambda data: gst.gather(data, [0]), (data,), (data,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(TypeError, match="forward mode"):
        gst.gather(torch.autograd.forward_ad.make_dual(data, data), [0])


# --------------------------------------------------------------------------------------------- compiler and export


@pytest.mark.filterwarnings("ignore")  # from the compiler
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_compiled_function_has_the_same_values_and_gradients(reduction: str) -> None:
    torch._dynamo.reset()
    inputs = randoms(4, 3), randoms(3, 3, seed=1)
    indices = torch.tensor([[2], [0], [2]])

    def function(data: Any, updates: Any) -> Any:
        return gst.gather(gst.scatter_nd(data.sin(), indices, updates, reduction=reduction), [0, 2]).cos()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    ours, plain = tensors(*inputs), tensors(*inputs)
    assert torch.allclose(compiled(*ours), function(*plain))
    for found, expected in zip(
        torch.autograd.grad(compiled(*ours).sum(), ours),
        torch.autograd.grad(function(*plain).sum(), plain),
        strict=True,
    ):
        assert torch.allclose(found, expected)


@pytest.mark.filterwarnings("ignore")
def test_inductor_and_a_bad_index_in_compiled_code() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda data, rows: gst.gather(data * 2, rows) + 1, fullgraph=True)
    assert compiled(torch.arange(3.0), torch.tensor([2, 0])).tolist() == [5, 1]
    with pytest.raises(IndexError, match="3 is out of range"):
        compiled(torch.arange(3.0), torch.tensor([3, 0]))


def test_opcheck() -> None:
    data = randoms(4, 3).requires_grad_()
    for name, shape, indices, options in GATHERS:
        positional = [options["axis"]] if "axis" in options else []
        others = {key: value for key, value in options.items() if key != "axis"}
        operator = getattr(torch.ops.gatherscatter, name).default
        arguments = (randoms(*shape).requires_grad_(), torch.as_tensor(indices), *positional)
        assert set(torch.library.opcheck(operator, arguments, others).values()) == {"SUCCESS"}
    for name, shape, indices, updates_shape, options in SCATTERS:
        positional = [options["axis"]] if "axis" in options else []
        others = {key: value for key, value in options.items() if key != "axis"} | {"reduction": "max"}
        operator = getattr(torch.ops.gatherscatter, name).default
        data, updates = randoms(*shape).requires_grad_(), randoms(*updates_shape).requires_grad_()
        arguments = (data, torch.as_tensor(indices), updates, *positional)
        assert set(torch.library.opcheck(operator, arguments, others).values()) == {"SUCCESS"}


class Layer(torch.nn.Module):  # type: ignore[misc]
    """A graph layer."""

    def forward(self, nodes: Any, source: Any, target: Any) -> Any:
        return gst.scatter_update(torch.zeros_like(nodes), target, gst.gather(nodes, source), reduction="max")


@pytest.mark.filterwarnings("ignore")
def test_an_exported_program_runs_and_can_be_trained() -> None:
    inputs = randoms(4, 3), torch.tensor([0, 1, 1]), torch.tensor([2, 2, 0])
    nodes = torch.export.Dim("nodes")
    program = torch.export.export(Layer(), inputs, dynamic_shapes=({0: nodes}, None, None)).module()
    assert torch.equal(program(*inputs), Layer()(*inputs))
    more = randoms(6, 3)
    (trained,) = tensors(more)
    (plain,) = tensors(more)
    program(trained, *inputs[1:]).sum().backward()
    Layer()(plain, *inputs[1:]).sum().backward()
    assert torch.equal(trained.grad, plain.grad)


def exported(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    from gatherscatter_models.torch import onnx_translations

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *inputs: Any) -> Any:
            return function(*inputs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            Module().eval(), inputs, dynamo=True, custom_translation_table=onnx_translations(), verbose=False
        )
    return program.model_proto


NUMBERS = randoms(2, 3, 4, dtype=torch.float32)
EXPORTS: list[tuple[Callable[..., Any], tuple[Any, ...], set[str]]] = [
    (lambda data, rows: gst.gather(data, rows, 1), (NUMBERS, torch.tensor([2, 0])), {"Gather"}),
    (lambda data, rows: gst.gather(data, rows, 2, batch_dims=1), (NUMBERS, torch.tensor([[2, 0], [1, 1]])),
     {"GatherND", "Transpose", "Unsqueeze"}),
    (lambda data, rows: gst.gather(data, rows, 2, batch_dims=1), (NUMBERS, torch.tensor([2, 0])),
     {"GatherND", "Transpose", "Unsqueeze"}),
    (lambda data, rows: gst.gather_elements(data, rows, 2), (NUMBERS, torch.ones(2, 3, 1, dtype=torch.int32)),
     {"GatherElements", "Cast"}),
    (lambda data, rows: gst.gather_nd(data, rows, batch_dims=1), (NUMBERS, torch.tensor([[0, 1], [2, -1]])),
     {"GatherND"}),
    (lambda data, rows, new: gst.scatter_update(data, rows, new, 2, reduction="sub"),
     (NUMBERS, torch.tensor([[2, 0], [1, 1]]), randoms(2, 3, 2, 2, dtype=torch.float32)),
     {"ScatterElements", "Neg", "Reshape", "Expand"}),
    (lambda data, rows, new: gst.scatter_nd(data, rows, new, reduction="max"),
     (NUMBERS, torch.tensor([[0], [1]]), randoms(2, 3, 4, dtype=torch.float32)),
     {"ScatterElements", "Reshape", "Expand"}),
    (lambda data, rows, new: gst.scatter_elements(data, rows, new, -2, reduction="mul"),
     (NUMBERS, torch.ones(2, 2, 4, dtype=torch.int64), randoms(2, 2, 4, dtype=torch.float32)), {"ScatterElements"}),
    (lambda data, rows, new: gst.scatter_nd(data, rows, new, reduction="sub"),
     (torch.tensor([5, 1], dtype=torch.uint8), torch.tensor([[0], [0]]), torch.tensor([2, 250], dtype=torch.uint8)),
     {"ScatterElements", "Sub", "Reshape"}),
    *((lambda data, rows, new, how=how: gst.scatter_update(data, rows, new, 1, reduction=how, include_self=False),
       (NUMBERS.to(dtype), torch.tensor([2, 0, 2]), randoms(2, 3, 4).to(dtype)),
       {"ScatterElements", "Reshape", "Expand", "ConstantOfShape"})
      for how, dtype in (("add", torch.float32), ("mul", torch.float64), ("max", torch.float32), ("min", torch.int32))),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("function", "inputs", "nodes"), EXPORTS)
def test_export_to_standard_onnx_nodes(function: Any, inputs: Any, nodes: set[str]) -> None:
    pytest.importorskip("onnxscript")
    model = exported(function, inputs)
    assert {node.op_type for node in model.graph.node} - {"Constant"} == nodes
    given = {info.name: value.numpy() for info, value in zip(model.graph.input, inputs, strict=True)}
    (found,) = gm.run(model, given).values()
    assert_equal(function(*inputs).numpy(), found)


# ---------------------------------------------------------------------------------------------------------- errors


def test_errors_are_those_of_the_array_functions() -> None:
    data = torch.zeros(8)
    with pytest.raises(OpIndexError, match=r"scatter_nd: indices\[1, 0\] = 12 is out of range") as caught:
        gst.scatter_nd(data, [[3], [12]], torch.ones(2).requires_grad_())
    assert caught.value.values == (12,)
    with pytest.raises(OpTypeError, match="gather: data is a sparse tensor"):
        gst.gather(torch.eye(2).to_sparse(), [0])
    with pytest.raises(OpTypeError, match="indices must be integers"):
        gst.gather(data, torch.zeros(2))
    with pytest.raises(TypeError, match="data has a gradient"):
        gst.gather(data.requires_grad_(), [0], out=torch.zeros(1))


def test_out_and_empty_lists_and_threads() -> None:
    data = torch.arange(3.0)
    out = torch.zeros(1)
    assert gst.gather(data, [2], out=out) is out
    assert out.tolist() == [2]
    assert gst.gather(data, []).tolist() == []
    assert gst.scatter_update(data, [1], [5.0], out=data, num_threads=1) is data
    assert data.tolist() == [0, 5, 2]


def test_out_is_a_tensor_of_its_own_and_autograd_knows_of_it() -> None:
    data = torch.full((3,), 1 + 2j)
    for out in (torch.zeros(3, dtype=data.dtype).conj(), torch.zeros(1, dtype=data.dtype).expand(3)):
        with pytest.raises(ValueError, match="out is a view"):
            gst.gather(data, [0, 1, 2], out=out)
        assert not out.any()
    factor, out = torch.ones(2, requires_grad=True), torch.ones(2)
    product = factor * out
    gst.gather(torch.zeros(2), [0, 1], out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_indices_of_numpy_may_change_before_the_backward_pass() -> None:
    data, rows = torch.zeros(3, requires_grad=True), np.array([2, 0])[::-1]
    result = gst.gather(data, rows)
    rows[:] = 1
    result.sum().backward()
    assert data.grad.tolist() == [1, 0, 1]


def test_tensors_of_several_devices_are_refused() -> None:
    with pytest.raises(TypeError, match="data is on cpu, but another input on meta"):
        gst.gather(torch.ones(2), torch.zeros(1, dtype=torch.int64, device="meta"))


def test_meta_tensors_have_shapes() -> None:
    data = torch.zeros(4, 3, device="meta")
    assert gst.gather(data, torch.zeros(2, 5, dtype=torch.int64, device="meta"), 1).shape == (4, 2, 5)
