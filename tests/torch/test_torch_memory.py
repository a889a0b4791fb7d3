"""Every function refuses tensors without memory before anything is read or written."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import gatherscatter as gs
from gatherscatter.errors import OpError, OpValueError

torch: Any = pytest.importorskip("torch")
import gatherscatter.torch as gst  # noqa: E402
from gatherscatter.arrays.torch_tensors import USES_TORCH_OPERATORS  # noqa: E402
from gatherscatter.torch import segment  # noqa: E402
from tests.support.devices import only_core  # noqa: E402

ROWS = (3, 1, 2)


def table() -> Any:
    return torch.arange(4096.0).reshape(64, 64)


def rows() -> Any:
    return torch.tensor(ROWS * 100)


def updates() -> Any:
    return torch.ones(300, 64)


def halves() -> Any:
    return updates().half()


def pointers() -> Any:
    return torch.arange(0, 65, 4)


def segments() -> Any:
    return torch.zeros(16, 64)


def box() -> Any:
    return torch.zeros((64, 64), dtype=torch.int64)


def starts() -> Any:
    return torch.arange(0, 300, 4)


def ones() -> Any:
    return torch.ones(300)


def embed(table: Any, rows: Any, starts: Any, weights: Any, **options: Any) -> Any:
    return gst.EmbeddingBag.from_pretrained(table, mode="sum", **options)(rows, starts, weights)


def tree(name: str) -> Any:
    shape = {"step_ids": (8, 16, 4), "parent_ids": (8, 16, 4), "max_seq_len": (16,), "end_token": ()}[name]
    return torch.zeros(shape, dtype=torch.int64)


# Each function with the tensors that it takes. A call with one of them without memory is refused.
ENTRANCES: dict[str, tuple[Callable[..., Any], tuple[Callable[[], Any], ...]]] = {
    "gs.gather": (gs.gather, (table, rows)),
    "gs.gather_elements": (gs.gather_elements, (table, box)),
    "gs.gather_nd": (lambda data, indices: gs.gather_nd(data, indices.reshape(-1, 1)), (table, rows)),
    "gs.scatter_update": (gs.scatter_update, (table, rows, updates)),
    "gs.scatter_elements": (gs.scatter_elements, (table, box, table)),
    "gs.scatter_nd": (lambda d, i, u: gs.scatter_nd(d, i.reshape(-1, 1), u), (table, rows, updates)),
    "gs.gather, out": (lambda d, i, out: gs.gather(d, i, out=out), (table, rows, updates)),
    "gs.scatter_update, out": (lambda d, i, u, o: gs.scatter_update(d, i, u, out=o), (table, rows, updates, table)),
    "gs.scatter_update, in place": (lambda d, i, u: gs.scatter_update(d, i, u, out=d), (table, rows, updates)),
    "gst.gather": (gst.gather, (table, rows)),
    "gst.gather_elements": (gst.gather_elements, (table, box)),
    "gst.gather_nd": (lambda data, indices: gst.gather_nd(data, indices.reshape(-1, 1)), (table, rows)),
    "gst.scatter_update": (gst.scatter_update, (table, rows, updates)),
    "gst.scatter_elements": (gst.scatter_elements, (table, box, table)),
    "gst.scatter_nd": (lambda d, i, u: gst.scatter_nd(d, i.reshape(-1, 1), u), (table, rows, updates)),
    "gst.gather, out": (lambda d, i, out: gst.gather(d, i, out=out), (table, rows, updates)),
    "gst.gather, gradient": (lambda d, i: gst.gather(d.requires_grad_(), i), (table, rows)),
    "gst.gather_reduce": (
        lambda d, i, w: gst.gather_reduce(d, i.reshape(-1, 3), weights=w.reshape(-1, 3)),
        (table, rows, ones),
    ),
    "gst.gather_reduce, offsets": (lambda d, o: gst.gather_reduce(d, offsets=o), (table, pointers)),
    "gst.gather_reduce, gradient": (
        lambda d, i, s: gst.gather_reduce(d.requires_grad_(), i, segment_ids=s),
        (table, rows, rows),
    ),
    "gst.EmbeddingBag": (embed, (table, rows, starts, ones)),
    "gst.EmbeddingBag, padding": (lambda *a: embed(*a, padding_idx=1), (table, rows, starts, ones)),
    "torch.ops.gather": (lambda d, i: torch.ops.gatherscatter.gather(d, i), (table, rows)),
    "torch.ops.scatter_update": (lambda *a: torch.ops.gatherscatter.scatter_update(*a), (table, rows, updates)),
    "torch.ops.reduce": (lambda u, i: torch.ops.gatherscatter.reduce(u, i, 4, ["sum", "max"]), (updates, rows)),
    "segment.scatter": (lambda u, i: segment.scatter(u, i, 0, dim_size=4), (updates, rows)),
    "segment.scatter_max": (lambda u, i: segment.scatter_max(u, i, 0, dim_size=4), (updates, rows)),
    "segment.scatter, several": (
        lambda u, i: segment.scatter(u, i, 0, dim_size=4, reduce=("sum", "max")),
        (updates, rows),
    ),
    "segment.scatter, all sizes": (lambda u, i: segment.scatter(u, i, 0), (updates, rows)),
    "segment.scatter, out": (lambda u, i, o: segment.scatter(u, i, 0, o), (updates, rows, table)),
    "segment.scatter_mul, out": (lambda u, i, o: segment.scatter_mul(u, i, 0, o), (updates, rows, table)),
    "segment.scatter_max, out": (lambda u, i, o: segment.scatter_max(u, i, 0, o), (updates, rows, table)),
    "segment.scatter_mean, out": (lambda u, i, o: segment.scatter_mean(u, i, 0, o), (updates, rows, table)),
    "segment.scatter_std": (lambda u, i: segment.scatter_std(u, i, 0), (updates, rows)),
    "segment.scatter_softmax": (lambda u, i: segment.scatter_softmax(u, i, 0), (updates, rows)),
    "segment.scatter_softmax, halves": (lambda u, i: segment.scatter_softmax(u, i, 0), (halves, rows)),
    "segment.scatter_logsumexp": (lambda u, i, o: segment.scatter_logsumexp(u, i, 0, o), (updates, rows, table)),
    "segment.segment_csr": (segment.segment_csr, (table, pointers)),
    "segment.segment_max_csr": (lambda s, p, o: segment.segment_max_csr(s, p, o), (table, pointers, segments)),
    "segment.segment_coo": (segment.segment_coo, (updates, rows)),
    "segment.gather_csr": (segment.gather_csr, (segments, pointers)),
    "segment.gather_csr, out": (segment.gather_csr, (segments, pointers, table)),
    "segment.gather_coo": (segment.gather_coo, (table, rows)),
    "segment.gather_coo, out": (segment.gather_coo, (table, rows, updates)),
    "onnx.Gather": (gs.onnx.Gather, (table, rows)),
    "onnx.ScatterElements": (gs.onnx.ScatterElements, (table, box, table)),
    "openvino.GatherTree": (
        gs.openvino.GatherTree,
        tuple(lambda name=name: tree(name) for name in ("step_ids", "parent_ids", "max_seq_len", "end_token")),
    ),
    "gs.gather_tree": (
        gs.gather_tree,
        tuple(lambda name=name: tree(name) for name in ("step_ids", "parent_ids", "max_seq_len", "end_token")),
    ),
    "gs.tensor_scatter": (
        gs.tensor_scatter,
        (
            lambda: torch.zeros(16, 2, 8, 4),
            lambda: torch.zeros(16, 2, 3, 4),
            lambda: torch.zeros(16, dtype=torch.int64),
        ),
    ),
    "at.get": (lambda d, i: gs.at(d)[i].get(), (table, rows)),
    "at.add": (lambda d, i, u: gs.at(d)[i].add(u), (table, rows, updates)),
    "at.set, out": (lambda d, i, u, o: gs.at(d)[i].set(u, out=o), (table, rows, updates, table)),
    "prepare": (lambda i: gs.prepare(i, 64), (rows,)),
    "Prepared.gather": (lambda d: gs.prepare(ROWS, 64).gather(d), (table,)),
    "Prepared.gather, out": (lambda o: gs.prepare(ROWS * 100, 64).gather(table(), out=o), (updates,)),
    "Prepared.scatter": (lambda d, u: gs.prepare(ROWS * 100, 64).scatter(d, u), (table, updates)),
    "Prepared.sum": (lambda u: gs.prepare(ROWS * 100, 64).sum(u), (updates,)),
    "Prepared.reduce": (lambda u: gs.prepare(ROWS * 100, 64).reduce(u, "max"), (updates,)),
    "aggregate": (lambda i, a: gs.aggregate(i, a, "max", axis=0, size=64, fill_value=0), (rows, updates)),
    "gst.aggregate": (lambda i, a: gst.aggregate(i, a, "max", axis=0, size=64, fill_value=0), (rows, updates)),
    "inspect": (lambda i: gs.inspect(i, 64), (rows,)),
    "plan": (lambda d, i: gs.plan("gather", d, i), (table, rows)),
}


def freed(tensor: Any) -> Any:
    tensor.untyped_storage().resize_(0)
    return tensor


def too_small(tensor: Any) -> Any:
    tensor.untyped_storage().resize_(tensor.nbytes - 1)
    return tensor


CASES = [(name, i) for name, (_, tensors) in ENTRANCES.items() for i in range(len(tensors))]


@pytest.mark.parametrize(("name", "position"), CASES)
@pytest.mark.parametrize("damage", [freed, too_small])
def test_an_entrance_refuses(damage: Callable[[Any], Any], name: str, position: int) -> None:
    call, makers = ENTRANCES[name]
    tensors = [make() for make in makers]
    call(*[make() for make in makers])  # with memory, it works
    tensors[position] = damage(tensors[position])
    with pytest.raises(OpValueError, match=r"needs .* bytes of memory, but its storage has"):
        call(*tensors)


def plain(result: Any) -> Any:
    """Return lists of the values of results, and of what wrappers hold."""
    if isinstance(result, tuple | list):
        return [plain(each) for each in result]
    if not isinstance(result, torch.Tensor):
        return re.sub(r" at 0x\w+", "", str(result))  # the address of an object
    if torch._is_functional_tensor(result):
        torch._sync(result)
        result = torch._from_functional_tensor(result)
    return result.tolist()


@pytest.mark.parametrize(("name", "position"), CASES)
def test_an_entrance_refuses_wrapped_tensors_or_reads_what_they_hold(name: str, position: int) -> None:
    """A tensor of `functionalize` has an address at which other values are."""
    call, makers = ENTRANCES[name]
    tensors = [make() for make in makers]
    expected = plain(call(*tensors)), plain(tensors)
    tensors = [make() for make in makers]
    tensors[position] = torch._to_functional_tensor(tensors[position])
    try:
        result = call(*tensors)
    except (OpError, RuntimeError) as error:  # PyTorch does not change a plain tensor by a wrapped one
        if not re.search(r"has no separate memory|mutating a non-functional tensor", str(error)):
            raise
    else:
        assert (plain(result), plain(tensors)) == expected


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor:UserWarning")
@pytest.mark.parametrize("name", ENTRANCES)
def test_an_entrance_refuses_real_tensors_within_a_mode_of_fakes(name: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    call, makers = ENTRANCES[name]
    tensors = [make() for make in makers]
    before = plain(tensors)
    with FakeTensorMode(allow_non_fake_inputs=True):
        try:
            result = call(*tensors)
        except (OpError, NotImplementedError, RuntimeError):
            result = ()
    results = result if isinstance(result, tuple | list) else [result]
    assert all(isinstance(each, FakeTensor) or any(each is tensor for tensor in tensors) for each in results)
    assert plain(tensors) == before


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyTorch loads its decompositions
@pytest.mark.parametrize(("name", "position"), CASES)
def test_an_entrance_drops_no_tangent(name: str, position: int) -> None:
    call, makers = ENTRANCES[name]
    tensors = [make() for make in makers]
    is_parameter = name.startswith("gst.EmbeddingBag") and position == 0  # a copy, without the tangent
    if not tensors[position].is_floating_point() or is_parameter or name.startswith("torch.ops"):
        return
    with torch.autograd.forward_ad.dual_level():
        tensors[position] = torch.autograd.forward_ad.make_dual(tensors[position], torch.ones_like(tensors[position]))
        try:
            result = call(*tensors)
        except (OpError, NotImplementedError) as error:
            if not re.search(r"forward mode|jvp", str(error)):
                raise
        else:  # PyTorch has written to `out`
            first = result[0] if isinstance(result, tuple) else result
            assert torch.autograd.forward_ad.unpack_dual(first).tangent is not None


@pytest.mark.parametrize(
    "change", ["x.data = torch.zeros(1)", "x.set_(torch.zeros(1).untyped_storage(), 0, (1,), (1,))"]
)
def test_a_tensor_that_gets_another_storage_during_a_call(change: str) -> None:
    """In a separate process, which would end. Operators of PyTorch may see the change, and raise an error."""
    refusal = "(IndexError, ValueError, RuntimeError)" if USES_TORCH_OPERATORS else "(IndexError, ValueError)"
    code = f"""
import threading, time, torch, gatherscatter as gs
rows = torch.randint(0, 2_000_000, (1_000_000,))
def exchange(wait):
    time.sleep(wait)
    {change}
for turn in range(8):
    x = torch.ones(2_000_000, 8)
    thread = threading.Thread(target=exchange, args=(0.001 * turn,))
    thread.start()
    try:
        assert gs.gather(x, rows).min() == 1
    except {refusal}:  # the storage was exchanged before the call, or while it was checked
        pass
    thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_types_of_parts_of_bytes_are_refused() -> None:
    for bits in range(1, 8):
        for kind in ("int", "uint"):
            tensor = torch.zeros(3, 1, dtype=torch.uint8).view(getattr(torch, f"{kind}{bits}"))
            for call in (
                lambda t: gs.gather(t, [0]),
                lambda t: gs.scatter_update(t, [0], t[:1]),
                lambda t: gs.inspect(t, 2),
            ):
                with pytest.raises(OpError, match=f"(?i){kind}{bits}"):
                    call(tensor)


def test_a_freed_tensor_of_an_unusual_type() -> None:
    for dtype in (torch.bfloat16, torch.float8_e5m2):
        with pytest.raises(OpValueError, match="needs 8192 bytes" if dtype == torch.bfloat16 else "needs 4096 bytes"):
            gs.gather(freed(table().to(dtype)), rows())
    for view in (lambda tensor: tensor.conj(), lambda tensor: tensor.conj().imag):
        whole = torch.complex(torch.arange(9.0), -torch.arange(9.0))
        assert gs.gather(view(whole), [3]).tolist() == view(whole)[3:4].tolist()
        freed_whole = torch.complex(torch.arange(9.0), torch.arange(9.0))
        unusual = view(freed_whole)
        freed(freed_whole)
        with pytest.raises(OpValueError, match="its storage has 0"):
            gs.gather(unusual, rows())


def test_views_of_a_resized_storage() -> None:
    """Offsets and strides count. Memory that a view does not reach need not exist."""
    whole = torch.arange(100.0)
    views = {
        "start": whole[:50],
        "end": whole[50:],
        "even": whole[::2],
        "column": whole.reshape(10, 10)[:, 9],
        "expanded": whole[60:61].expand(7, 1)[:, 0],
        "nothing": whole[99:99],
    }
    lists = {name: view.tolist() for name, view in views.items()}
    whole.untyped_storage().resize_(61 * 4)
    for name, view in views.items():
        for call in (gs.gather, gst.gather):
            index = torch.zeros(0 if name == "nothing" else 1, dtype=torch.int64)
            if name in ("end", "even", "column"):
                with pytest.raises(OpValueError, match=r"data needs .* its storage has 244"):
                    call(view, index)
            else:
                assert call(view, index).tolist() == lists[name][: len(index)]


def test_an_explanation_shows_the_error() -> None:
    assert "its storage has 0" in str(gs.explain("onnx.Gather", freed(table()), rows()))
    assert "its storage has 0" in str(gs.explain("onnx.Gather", table(), freed(rows())))


def test_a_refused_call_has_written_nothing() -> None:
    out = table()
    before = out.clone()
    with pytest.raises(OpValueError):
        gs.scatter_update(out, rows(), freed(updates()), out=out)
    assert torch.equal(out, before)


def _fake(shape: tuple[int, ...]) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(shape)


class Wrapper(torch.Tensor):
    """A subclass with a shape but without memory."""

    @staticmethod
    def __new__(cls) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (64, 64), dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("this tensor has no values")


UNREAL = {
    "meta": lambda: torch.empty((64, 64), device="meta"),
    "fake": lambda: _fake((64, 64)),
    "wrapper": Wrapper,
    "zeros of autograd": lambda: torch._efficientzerotensor((64, 64)),
}


@only_core
@pytest.mark.parametrize("kind", UNREAL)
def test_tensors_that_never_had_memory(kind: str) -> None:
    for call in (
        lambda tensor: gs.gather(tensor, [0]),
        lambda tensor: gs.gather(table(), rows(), out=tensor),
        lambda tensor: gs.scatter_update(tensor, [0], torch.zeros(1, 64)),
        lambda tensor: gs.prepare(ROWS, 64).gather(tensor),
        lambda tensor: gs.at(tensor)[0].set(1.0),
        lambda tensor: gs.inspect(tensor, 64),
        lambda tensor: gs.gather_tree(tensor, tensor, tensor, tensor),
    ):
        with pytest.raises(OpError):
            call(UNREAL[kind]())
