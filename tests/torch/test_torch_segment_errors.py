"""Errors of gatherscatter.torch.segment name the arguments of the call, and are raised before anything is written."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gatherscatter.errors import OpIndexError, OpTypeError, OpValueError

torch: Any = pytest.importorskip("torch")
segment: Any = pytest.importorskip("gatherscatter.torch.segment")
gst: Any = pytest.importorskip("gatherscatter.torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.func import grad, vmap  # noqa: E402


def integers(*values: int) -> Any:
    return torch.tensor(values)


SRC = torch.tensor([1.0, 2.0, 3.0])
INDEX = integers(0, 0, 1)
POINTERS = integers(0, 2, 3)
MATRIX = torch.ones(3, 9)
CUBE = torch.ones(2, 7, 3)
COMPLEX = torch.ones(3, dtype=torch.complex64)

BY_INDEX = [name for name in segment.__all__ if name.startswith("scatter") or name.endswith("_coo")]
BY_POINTERS = [name for name in segment.__all__ if name.endswith("_csr")]
SOURCES = {name: torch.ones(2) if name == "gather_csr" else SRC for name in segment.__all__}
INDEXES = {name: "indptr" if name in BY_POINTERS else "index" for name in segment.__all__}


def call(name: str, src: Any, index: Any) -> Any:
    size = {} if name in BY_POINTERS or name == "gather_coo" else {"dim_size": 3}
    return getattr(segment, name)(src, index, **size)


def index_of(name: str) -> Any:
    return POINTERS if name in BY_POINTERS else INDEX


def test_each_function_is_covered() -> None:
    assert sorted(BY_INDEX + BY_POINTERS) == sorted(segment.__all__)


# --------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("name", BY_INDEX)
def test_an_index_out_of_range_has_the_words_of_the_call(name: str) -> None:
    subject = "dim 0 of src with size 3" if name == "gather_coo" else "dim_size 3"
    with pytest.raises(OpIndexError) as caught:
        call(name, SRC, integers(0, 2, 9))
    assert str(caught.value) == f"{name}: index[2] = 9 is out of range for {subject} (valid: -3..2)"
    error = caught.value
    assert (error.op, error.input, error.count, error.positions, error.values) == (name, "index", 1, ((2,),), (9,))
    assert (error.axis, error.allowed) == (0, (-3, 2))
    assert error.__context__ is None
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


@pytest.mark.parametrize("name", BY_POINTERS)
def test_pointers_have_the_words_of_the_call(name: str) -> None:
    with pytest.raises(OpIndexError, match=rf"^{name}: indptr\[1\] = 1 is less than the pointer before it"):
        call(name, SOURCES[name], integers(2, 1, 3))


INDEX_ERRORS: dict[str, Callable[[], Any]] = {
    # Positions refer to the given index, not to its broadcast form.
    "scatter: index[0, 1] = 9 is out of range for dim_size 3 (valid: -3..2); 2 of 14 values of index are out of range, "
    "all in -4..9": lambda: segment.scatter(
        CUBE, torch.zeros(2, 7, dtype=torch.int64).index_put((integers(0, 1), integers(1, 3)), integers(9, -4)), 1,
        dim_size=3,
    ),
    "scatter: index[0] = 9 is out of range for dim_size 3 (valid: -3..2)": lambda: segment.scatter(
        SRC, integers(9), dim_size=3
    ),
    "scatter: index[1] = 7 is out of range for dim 0 of out with size 3 (valid: -3..2)": lambda: segment.scatter(
        SRC, integers(0, 7, 1), 0, torch.zeros(3)
    ),
    "scatter: index[1] = 7 is out of range for dim 1 of out with size 3 (valid: -3..2)": lambda: segment.scatter(
        MATRIX.T, integers(0, 7, 1), -1, torch.zeros(9, 3), reduce="max"
    ),
    "scatter: index[2] = 3 is out of range for dim_size 3 (valid: -3..2); all values lie in 1..3: if they count from "
    "one, subtract 1": lambda: segment.scatter(SRC, integers(1, 2, 3), dim_size=3),
    "scatter: index[1] = 7 is out of range for dim_size 3 (valid: -3..2)": lambda: segment.scatter(
        MATRIX, integers(0, 7, 1), 0, dim_size=3, reduce=("count", "sum", "max")
    ),
    "gather_coo: index[0, 0] = 9 is out of range for dim 1 of src with size 7 (valid: -7..6); 4 of 4 values of index "
    "are out of range, all 9": lambda: segment.gather_coo(CUBE, torch.full((2, 2), 9)),
    "scatter: index[0] = -9 is out of range for dim_size 2 (valid: -2..1)": lambda: segment.scatter(
        SRC, integers(-9, 0, 1)
    ),
    "scatter: dim 2 is out of range for src with 2 dimensions (valid: -2..1)": lambda: segment.scatter(
        MATRIX, INDEX, 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", INDEX_ERRORS)
def test_index_errors(text: str) -> None:
    with pytest.raises(OpIndexError) as caught:
        INDEX_ERRORS[text]()
    assert str(caught.value) == text


def test_index_errors_of_transformations() -> None:
    bad = torch.stack([INDEX, integers(0, 1, 5)])
    # Positions refer to the given batch.
    with pytest.raises(OpIndexError, match=r"^scatter: index\[1, 2\] = 5 is out of range for dim_size 3"):
        vmap(lambda index: segment.scatter(SRC, index, 0, dim_size=3))(bad)
    with pytest.raises(OpIndexError, match=r"^scatter: index\[2, 1\] = 5 is out of range for dim_size 3"):
        vmap(lambda index: segment.scatter(SRC, index, 0, dim_size=3), in_dims=1)(bad.T)
    with pytest.raises(OpIndexError, match=r"^scatter: index\[2\] = 5 is out of range for dim_size 3"):
        grad(lambda src, index: segment.scatter(src, index, dim_size=3).sum())(SRC, bad[1])
    for reduce in ("sum", "max", ("sum", "max")):
        with pytest.raises(OpIndexError, match=r"^scatter: index\[2\] = 5 is out of range for dim_size 3"):
            segment.scatter(MATRIX.clone().requires_grad_(), bad[1], 0, dim_size=3, reduce=reduce)


# --------------------------------------------------------------------------------------------------------- shapes

SHAPE_ERRORS: dict[str, Callable[[], Any]] = {
    "scatter: index has 4 entries, but src has 3 along dim 0 (index (4,), src (3,))": lambda: segment.scatter(
        SRC, integers(0, 0, 1, 2)
    ),
    # By default, dim is the last one.
    "scatter: index has 3 entries, but src has 9 along dim 1; did you mean dim=0? (index (3,), src (3, 9))": (
        lambda: segment.scatter(MATRIX, INDEX)
    ),
    "scatter: index must have the first 2 dimensions of src, or 1 instead of them (index (2, 5), src (2, 7, 3))": (
        lambda: segment.scatter(CUBE, torch.zeros(2, 5, dtype=torch.int64), 1)
    ),
    "scatter: index must not have more dimensions than src (index (3, 1), src (3,))": lambda: segment.scatter(
        SRC, INDEX.reshape(3, 1)
    ),
    "segment_coo: index must have at least one dimension (index (), src (3,))": lambda: segment.segment_coo(
        SRC, torch.tensor(1)
    ),
    "gather_coo: index must have the first 1 dimensions of src, or 1 instead of them (index (3, 2), src (2, 7, 3))": (
        lambda: segment.gather_coo(CUBE, torch.zeros(3, 2, dtype=torch.int64))
    ),
    "scatter: src must have at least one dimension": lambda: segment.scatter(torch.tensor(1.0), INDEX),
    "scatter: out has shape (3, 5), but the result has (3, 9)": lambda: segment.scatter(
        MATRIX, INDEX, 0, torch.zeros(3, 5)
    ),
    "scatter_max: out has shape (3, 5), but the result has (2,)": lambda: segment.scatter_max(
        SRC, INDEX, 0, torch.zeros(3, 5)
    ),
    "segment_csr: out has shape (7,), but the result has (2,)": lambda: segment.segment_csr(
        SRC, POINTERS, torch.zeros(7)
    ),
    "gather_csr: out has shape (7,), but the result has (3,)": lambda: segment.gather_csr(
        torch.ones(2), POINTERS, torch.zeros(7)
    ),
    "scatter: dim_size must be at least 0, not -1": lambda: segment.scatter(SRC, INDEX, dim_size=-1),
    "scatter: dim_size is missing, and all indices are negative (the largest is -2); give dim_size": (
        lambda: segment.scatter(SRC, integers(-2, -3, -2))
    ),
    "scatter: dim_size is missing, and index has no values here from which it could be computed; give dim_size": (
        lambda: vmap(lambda index: segment.scatter(SRC, index))(torch.stack([INDEX, INDEX]))
    ),
    "scatter: out is a leaf tensor with requires_grad, which can't be written to; use out.clone()": (
        lambda: segment.scatter(SRC, INDEX, 0, torch.zeros(3, requires_grad=True))
    ),
    "scatter: reduce must be one of 'sum', 'add', 'mul', 'mean', 'min', 'max', not 'amax'; did you mean 'max'?": (
        lambda: segment.scatter(SRC, INDEX, reduce="amax")
    ),
    "segment_csr: reduce must be one of 'sum', 'add', 'mul', 'mean', 'min', 'max', not 'avg'; did you mean 'mean'?": (
        lambda: segment.segment_csr(SRC, POINTERS, reduce="avg")
    ),
    "segment_coo: reduce must be one of 'sum', 'add', 'mul', 'mean', 'min', 'max', not 'prod'; did you mean 'mul'?": (
        lambda: segment.segment_coo(SRC, INDEX, reduce="prod")
    ),
    "scatter: reduce is empty; give at least one name": lambda: segment.scatter(SRC, INDEX, reduce=()),
}  # fmt: skip


@pytest.mark.parametrize("text", SHAPE_ERRORS)
def test_shape_errors(text: str) -> None:
    with pytest.raises(OpValueError) as caught:
        SHAPE_ERRORS[text]()
    assert str(caught.value) == text


# ---------------------------------------------------------------------------------------------------------- types

TYPE_ERRORS: dict[str, Callable[[], Any]] = {
    "scatter: index must be integers, not torch.float32; use index.long()": lambda: segment.scatter(
        SRC, INDEX.float()
    ),
    "gather_coo: index must be integers, not torch.bool; use index.long()": lambda: segment.gather_coo(
        SRC, INDEX.bool()
    ),
    "scatter: dim must be an integer, not 0.0; write dim=0": lambda: segment.scatter(SRC, INDEX, 0.0),
    "scatter: dim_size must be an integer, not 2.5": lambda: segment.scatter(SRC, INDEX, dim_size=2.5),
    "scatter: out must have the same type as the result (torch.float32), not torch.int64": lambda: segment.scatter(
        SRC, INDEX, 0, integers(0, 0)
    ),
    # Otherwise it would be truncated silently.
    "scatter_std: out must have the same type as the result (torch.float32), not torch.int64": lambda: (
        segment.scatter_std(INDEX, INDEX, 0, integers(0, 0))
    ),
    "scatter: reduction 'max' is not defined for elements of type complex64": lambda: segment.scatter(
        COMPLEX, INDEX, reduce="max"
    ),
    "segment_min_csr: reduction 'min' is not defined for elements of type complex64": lambda: segment.segment_min_csr(
        COMPLEX, POINTERS
    ),
    "scatter_std: src must be real numbers, not torch.complex64": lambda: segment.scatter_std(COMPLEX, INDEX),
    "scatter: reduce must be one of 'sum', 'add', 'mul', 'mean', 'min', 'max', not None": lambda: segment.scatter(
        SRC, INDEX, reduce=None
    ),
    "segment_csr: reduce must be one of 'sum', 'add', 'mul', 'mean', 'min', 'max', not ['sum']": (
        lambda: segment.segment_csr(SRC, POINTERS, reduce=["sum"])
    ),
    "segment_csr: indptr is on the meta device and has no values; give a tensor on the CPU": (
        lambda: segment.segment_csr(SRC.to("meta"), POINTERS.to("meta"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TYPE_ERRORS)
def test_type_errors(text: str) -> None:
    with pytest.raises(OpTypeError) as caught:
        TYPE_ERRORS[text]()
    assert str(caught.value) == text


def quantize(tensor: Any) -> Any:
    return torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8)


def nest(tensor: Any, **options: Any) -> Any:
    return torch.nested.nested_tensor([tensor, tensor[1:]], **options)


def on_cuda(tensor: Any) -> Any:
    with FakeTensorMode():
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")


# Inputs that are not dense tensors with values, and the end of their error.
UNUSUAL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a list": (lambda tensor: tensor.tolist(), "must be a tensor, not a list; use torch.as_tensor({name})"),
    "an array": (
        lambda tensor: tensor.numpy(),
        "must be a tensor, not a NumPy array; use torch.as_tensor({name})",
    ),
    "nothing": (lambda tensor: None, "must be a tensor, not None"),
    "sparse": (lambda tensor: tensor.to_sparse(), "is a sparse tensor; use {name}.to_dense()"),
    "quantized": (quantize, "is a quantized tensor; use {name}.dequantize()"),
    "nested": (
        nest,
        "is a nested tensor; use torch.cat({name}.unbind()), and for bags "
        "indptr=torch.tensor([0, *map(len, {name}.unbind())]).cumsum(0)",
    ),
    "jagged": (
        lambda tensor: nest(tensor, layout=torch.jagged),
        "is a nested tensor; use torch.cat({name}.unbind()), and for bags "
        "indptr=torch.tensor([0, *map(len, {name}.unbind())]).cumsum(0)",
    ),
    "meta": (
        lambda tensor: tensor.to("meta"),
        "is on the meta device and has no values; give a tensor on the CPU",
    ),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor.*")
@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("name", segment.__all__)
def test_unusual_tensors_are_refused_with_advice(name: str, kind: str) -> None:
    make, end = UNUSUAL[kind]
    src, index = SOURCES[name], index_of(name)
    with pytest.raises(OpTypeError) as caught:
        call(name, make(src), index)
    assert str(caught.value) == f"{name}: src {end.format(name='src')}"
    assert caught.value.input == "src"
    with pytest.raises(OpTypeError) as caught:
        call(name, src, make(index))
    assert str(caught.value) == f"{name}: {INDEXES[name]} {end.format(name=INDEXES[name])}"
    if kind != "nothing" and "softmax" not in name:
        with pytest.raises(OpTypeError) as caught:
            getattr(segment, name)(src, index, out=make(torch.zeros(2)))
        assert str(caught.value) == f"{name}: out {end.format(name='out')}"


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor.*")
@pytest.mark.parametrize("kind", [kind for kind in UNUSUAL if kind not in ("a list", "an array", "nothing")])
def test_so_they_are_by_the_array_functions_and_by_embedding_bags(kind: str) -> None:
    make, end = UNUSUAL[kind]
    if kind != "meta":  # these only combine with tensors of the same device
        with pytest.raises(OpTypeError) as caught:
            gst.gather(make(SRC), INDEX)
        assert str(caught.value) == f"gather: data {end.format(name='data')}"
        with pytest.raises(OpTypeError) as caught:
            gst.scatter_update(SRC.clone().requires_grad_(), INDEX, make(SRC))
        assert str(caught.value) == f"scatter_update: updates {end.format(name='updates')}"
    with pytest.raises(OpTypeError) as caught:
        gst.gather(SRC, INDEX, out=make(SRC))
    assert str(caught.value) == f"gather: out {end.format(name='out')}"
    with pytest.raises(OpTypeError) as caught:
        gst.EmbeddingBag(3, 2)(make(INDEX), integers(0))
    assert str(caught.value) == f"EmbeddingBag: input {end.format(name='input')}"


@pytest.mark.parametrize("name", segment.__all__)
def test_tensors_on_two_devices_are_refused(name: str) -> None:
    src, index, own = SOURCES[name], index_of(name), INDEXES[name]
    for given, text in (
        ((on_cuda(src), index), f"{name}: src is on cuda:0, but {own} on cpu; use {own}.to(src.device)"),
        ((src, on_cuda(index)), f"{name}: src is on cpu, but {own} on cuda:0; use {own}.to(src.device)"),
    ):
        with pytest.raises(OpTypeError) as caught:
            call(name, *given)
        assert str(caught.value) == text
    with pytest.raises(OpTypeError, match=r"gather: out is on cuda:0, but data is on cpu"):
        gst.gather(SRC, INDEX, out=on_cuda(SRC))


def test_values_that_are_no_tensors() -> None:
    with pytest.raises(OpTypeError, match=r"^gather: data is missing"):
        gst.gather(None, [0])
    with pytest.raises(OpTypeError, match=r"^gather: data is a masked array"):
        gst.gather(np.ma.masked_array([1.0, 2.0], [0, 1]), [0])
    with pytest.raises(OpTypeError, match=r"^gather: data can't be made a tensor: "):
        gst.gather(["a"], [0])
    with pytest.raises(OpValueError, match=r"^gather: data can't be made an array: its nested lists have different"):
        gst.gather([[1.0], [2.0, 3.0]], [0])
    bag = gst.EmbeddingBag(3, 2, mode="sum")
    for arguments, name in ((([[0, 1]],), "input"), ((INDEX, [0]), "offsets"),
                            ((INDEX, integers(0), [1.0] * 3), "per_sample_weights")):  # fmt: skip
        with pytest.raises(OpTypeError, match=f"^EmbeddingBag: {name} must be a tensor, not a list"):
            bag(*arguments)


# ------------------------------------------------------------------------------------- the properties of errors


@pytest.mark.parametrize("name", [name for name in BY_INDEX if "softmax" not in name])
def test_a_refused_call_has_written_nothing(name: str) -> None:
    out = torch.tensor([7.0, 8.0, 9.0])
    for src, index in ((SRC, integers(0, 1, 9)), (SRC, integers(0, 1, 2, 1)), (SRC.double(), INDEX)):
        with pytest.raises((OpIndexError, OpValueError, OpTypeError), match=f"^{name}: "):
            getattr(segment, name)(src, index, out=out)
        assert out.tolist() == [7, 8, 9]


def test_tensors_of_the_meta_device_have_shapes() -> None:
    src, index = MATRIX.to("meta"), INDEX.to("meta")
    assert segment.scatter(src, index, 0, dim_size=5).shape == (5, 9)
    assert [each.shape for each in segment.scatter_max(src, index, 0, dim_size=5)] == [(5, 9), (5, 9)]
    assert segment.scatter_softmax(src, index, 0, dim_size=5).shape == (3, 9)
    assert segment.scatter_logsumexp(src, index, 0, dim_size=5).shape == (5, 9)
    assert segment.gather_coo(src, index).shape == (3, 9)


def test_what_counts_as_an_integer() -> None:
    for size in (np.int64(4), torch.tensor(4)):
        assert segment.scatter(SRC, INDEX, np.int64(0), dim_size=size).tolist() == [3, 3, 0, 0]
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.uint64):
        assert segment.scatter(SRC, INDEX.to(dtype)).tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore")
def test_shapes_are_checked_while_a_program_is_compiled() -> None:
    torch._dynamo.reset()

    def function(src: Any, index: Any) -> Any:
        return segment.scatter(src, index, dim_size=3)

    with pytest.raises(OpValueError, match=r"^scatter: index has 2 entries, but src has 3 along dim 0"):
        torch.compile(function, backend="eager")(SRC, integers(0, 1))
    with pytest.raises(Exception, match="scatter: index has 2 entries, but src has 3 along dim 0"):
        torch.compile(function, backend="eager", fullgraph=True)(SRC, integers(0, 1))
