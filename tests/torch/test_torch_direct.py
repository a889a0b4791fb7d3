"""Calls on plain tensors read them with DLPack. Unusual tensors go another way, with the same result or error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import gatherscatter as gs
import gatherscatter.torch as gst
from gatherscatter import _core
from gatherscatter.arrays import torch_tensors
from gatherscatter.torch import functions
from tests.support.devices import only_core

pytestmark = only_core

TABLE, ROWS = torch.arange(12.0).reshape(4, 3), torch.tensor([2, 0, 2])
COLUMN = ROWS[:, None]
NEW = torch.full((3, 3), 10.0)
TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8)
CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "gather": lambda t: gst.gather(t, ROWS),
    "gather_elements": lambda t: gst.gather_elements(t, COLUMN.expand(3, 3).contiguous()),
    "gather_nd": lambda t: gst.gather_nd(t, COLUMN),
    "scatter_update": lambda t: gst.scatter_update(t, ROWS, NEW.to(t.dtype), reduction="add"),
    "scatter_elements": lambda t: gst.scatter_elements(t, COLUMN, NEW[:, :1].to(t.dtype).contiguous()),
    "scatter_nd": lambda t: gst.scatter_nd(t, COLUMN, NEW.to(t.dtype), reduction="max"),
    "offsets": lambda t: gst.gather_reduce(t, ROWS, offsets=torch.tensor([0, 1])),
    "indptr": lambda t: gst.gather_reduce(t, ROWS, indptr=torch.tensor([0, 1, 3])),
    "segment_ids": lambda t: gst.gather_reduce(t, ROWS, segment_ids=torch.tensor([1, 0, 1]), reduction="max"),
    "weights": lambda t: gst.gather_reduce(t, ROWS.reshape(1, 3), weights=torch.ones(1, 3, dtype=t.dtype)),
}


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record for each direct call whether it gave a result."""
    record: list[bool] = []

    def watch(original: Any) -> Any:
        def call(*given: Any) -> Any:
            made = original(*given)
            record.append(made is not NotImplemented)
            return made

        return call

    class Core:
        run_on_tensors = staticmethod(watch(_core.run_on_tensors))

        def __getattr__(self, name: str) -> Any:
            return getattr(_core, name)

    monkeypatch.setattr(functions, "_core", Core())
    return record


def general(call: Callable[[Tensor], Tensor], table: Tensor, is_observed: Callable[[], bool] = lambda: True) -> Tensor:
    """Return the result of the general way."""
    types = Tensor, torch.nn.Parameter
    _core.register_tensors(*types, is_observed, torch.is_grad_enabled)
    try:
        return call(table)
    finally:
        _core.register_tensors(*types, torch_tensors.is_observed, torch.is_grad_enabled)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", TYPES)
def test_results(name: str, dtype: Any, direct: list[bool]) -> None:
    if name == "weights" and not dtype.is_floating_point:
        pytest.skip("weights are floats here")
    table = TABLE.to(dtype)
    found = CALLS[name](table)
    assert direct == [True]
    expected = general(CALLS[name], table)
    assert (found.dtype, found.shape, found.is_contiguous()) == (dtype, expected.shape, True)
    assert torch.equal(found, expected)
    # The result is a tensor like any other, with its own memory.
    found += 1
    assert found.data_ptr() % 64 == 0 or found.numel() == 0
    assert torch.equal(found, expected + 1)
    assert torch.equal(table, TABLE.to(dtype))


UNUSUAL: dict[str, Callable[[], Tensor]] = {
    "strided": lambda: torch.arange(24.0).reshape(4, 6)[:, ::2],
    "transposed": lambda: torch.arange(12.0).reshape(3, 4).T,
    "negated": lambda: torch._neg_view(torch.arange(12.0).reshape(4, 3)),
    "unaligned": lambda: torch.frombuffer(bytearray(49), dtype=torch.float32, count=12, offset=1).reshape(4, 3),
    "subclass": lambda: torch.arange(12.0).reshape(4, 3).as_subclass(Named),
}


class Named(Tensor):
    """A subclass that changes nothing."""


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("name", CALLS)
def test_unusual_tensors(name: str, kind: str, direct: list[bool]) -> None:
    table = UNUSUAL[kind]()
    found = CALLS[name](table)
    assert True not in direct
    plain = torch.empty(table.shape).copy_(table)
    assert torch.equal(torch.empty(found.shape).copy_(found), general(CALLS[name], plain))


def test_tensors_without_memory_and_negated_integers(direct: list[bool]) -> None:
    negated = torch._neg_view(torch.tensor([1, 2, 3]))
    assert gst.gather(negated, torch.tensor([0, 1])).tolist() == [-1, -2]
    assert gst.gather(torch.tensor([1.0, 2.0, 3.0]), torch._neg_view(torch.tensor([1, 2]))).tolist() == [3, 2]
    with pytest.raises(TypeError, match="ZeroTensor"):
        gst.gather(torch._efficientzerotensor(3), torch.tensor([0, 1]))
    assert True not in direct


def test_conjugated_and_complex_tensors(direct: list[bool]) -> None:
    table = torch.complex(TABLE, -TABLE)
    assert torch.equal(gst.gather(table, ROWS), table[ROWS])
    assert direct.pop()
    assert torch.equal(gst.gather(table.conj(), ROWS), table.conj()[ROWS])
    assert torch.equal(gst.gather(table.conj().imag, ROWS), table.conj().imag[ROWS])
    assert True not in direct


@pytest.mark.filterwarnings("ignore")  # from the compiler and from forward mode
def test_gradients_and_modes(direct: list[bool]) -> None:
    leaf = TABLE.clone().requires_grad_()
    for name, call in CALLS.items():
        assert call(leaf).requires_grad, name
        with torch.no_grad():
            direct.clear()
            found = call(torch.nn.Parameter(TABLE))
            assert direct == [True], name
            assert not found.requires_grad
    direct.clear()
    assert torch.vmap(lambda t: gst.gather(t, ROWS))(TABLE[None]).shape == (1, 3, 3)
    assert torch.func.grad(lambda t: gst.gather(t, ROWS).sum())(TABLE).shape == TABLE.shape
    with torch.autograd.forward_ad.dual_level(), pytest.raises(TypeError, match="forward mode"):
        gst.gather(torch.autograd.forward_ad.make_dual(TABLE, TABLE), ROWS)
    assert gst.gather(TABLE.to("meta"), ROWS.to("meta")).is_meta
    compiled = torch.compile(lambda t: gst.gather(t, ROWS) + 1, backend="eager", fullgraph=True)
    assert torch.equal(compiled(TABLE), TABLE[ROWS] + 1)


@pytest.mark.parametrize("name", CALLS)
def test_errors_are_those_of_the_array_function(name: str) -> None:
    for damaged in (TABLE[:2], TABLE.reshape(-1)[:0], TABLE[0, 0]):
        kinds = []
        for call in (CALLS[name], lambda t: CALLS[name](t.as_subclass(Named))):
            with pytest.raises((gs.OpError, RuntimeError)) as caught:
                call(damaged)
            kinds.append((type(caught.value), str(caught.value)))
        assert kinds[0] == kinds[1]


ARRAY_CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "gather": lambda t: gs.gather(t, ROWS, 0, mode="raise", num_threads=1),
    "gather_elements": lambda t: gs.gather_elements(t, COLUMN.expand(3, 3).contiguous(), 0),
    "gather_nd": lambda t: gs.gather_nd(t, COLUMN),
    "scatter_update": lambda t: gs.scatter_update(t, ROWS, NEW.to(t.dtype), reduction="mean", include_self=False),
    "scatter_elements": lambda t: gs.scatter_elements(t, COLUMN, NEW[:, :1].to(t.dtype).contiguous()),
    "scatter_nd": lambda t: gs.scatter_nd(t, COLUMN, updates=NEW.to(t.dtype), reduction="max"),
    "indptr": lambda t: gs.gather_reduce(t, ROWS, indptr=torch.tensor([0, 1, 3]), default=0),
    "segment_ids": lambda t: gs.gather_reduce(t, ROWS, segment_ids=torch.tensor([1, 0, 1]), reduction="max"),
    "default": lambda t: gs.gather_reduce(t, ROWS, offsets=torch.tensor([0, 0]), default=7),
}


@pytest.mark.parametrize("name", ARRAY_CALLS)
def test_array_functions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ARRAY_CALLS[name]
    expected = {dtype: general(call, TABLE.to(dtype)) for dtype in TYPES}
    plain = {kind: make() for kind, make in UNUSUAL.items()}
    expected |= {kind: general(call, torch.empty(each.shape).copy_(each)) for kind, each in plain.items()}
    leaf = TABLE.clone().requires_grad_()
    with pytest.raises(TypeError, match="data has a gradient, which would be lost"):
        call(leaf)
    for kind, each in plain.items():
        assert torch.equal(torch.empty(expected[kind].shape).copy_(call(each)), expected[kind])
    assert torch.equal(gs.gather(TABLE, [2, 0, 2]), TABLE[ROWS])  # a list has no kind
    with pytest.raises(TypeError, match=r"indices is a NumPy array; convert one of them"):
        gs.gather(TABLE, ROWS.numpy())
    kinds = []
    for damaged in (TABLE[:2], TABLE[:2].as_subclass(Named)):
        with pytest.raises(gs.OpError) as caught:
            call(damaged)
        kinds.append((type(caught.value), str(caught.value)))
    assert kinds[0] == kinds[1]
    if name != "default":  # the core alone gives the results
        monkeypatch.setattr("gatherscatter.functions.array_functions.find_adapter", None)
    with torch.no_grad():
        assert torch.equal(call(leaf), expected[torch.float32])
    for dtype in TYPES:
        found = call(TABLE.to(dtype))
        assert (found.dtype, found.is_contiguous()) == (dtype, True)
        assert torch.equal(found, expected[dtype])


@pytest.mark.filterwarnings("ignore")  # from the compiler
def test_array_functions_in_modes() -> None:
    with pytest.raises(TypeError, match=r"; use gatherscatter\.torch\.gather without out="):
        torch.vmap(lambda t: gs.gather(t, ROWS))(TABLE[None])
    dual = torch.autograd.forward_ad
    with dual.dual_level():
        assert torch.equal(gs.gather(TABLE, ROWS), TABLE[ROWS])
    assert torch.equal(torch.compile(lambda t: gs.gather(t, ROWS) + 1, backend="eager")(TABLE), TABLE[ROWS] + 1)
    with pytest.raises(TypeError, match="meta"):
        gs.gather(TABLE.to("meta"), ROWS.to("meta"))


@pytest.mark.parametrize("call", [CALLS["gather"], CALLS["offsets"], ARRAY_CALLS["gather"], ARRAY_CALLS["indptr"]])
def test_an_interrupt_is_not_lost(call: Callable[[Tensor], Tensor]) -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    def fail() -> bool:
        raise AttributeError

    with pytest.raises(KeyboardInterrupt):
        general(call, TABLE, interrupt)
    assert torch.equal(general(call, TABLE, fail), call(TABLE))


TRACES: dict[str, Callable[..., Any]] = {
    "torch.jit.trace": lambda call, table: torch.jit.trace(call, table, check_trace=False),
    "make_fx": lambda call, table: torch.fx.experimental.proxy_tensor.make_fx(call)(table),
}


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated
def test_a_trace_records_calls(name: str, trace: str) -> None:
    traced = TRACES[trace](CALLS[name], TABLE)
    assert torch.equal(traced(TABLE * 3), CALLS[name](TABLE * 3))


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.filterwarnings("ignore")
def test_a_trace_records_bags_of_embeddings(padding: int | None, trace: str) -> None:
    bag = gst.EmbeddingBag.from_pretrained(TABLE, mode="sum", padding_idx=padding)
    rows = torch.tensor([[0, 1], [2, 3]])
    traced = TRACES[trace](bag, rows)
    assert torch.equal(traced(3 - rows), bag(3 - rows))


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("name", ARRAY_CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_trace_does_not_record_the_results_of_array_functions_as_constants(name: str, trace: str) -> None:
    with pytest.raises(TypeError, match=r"is being traced by PyTorch, which would .*; use .*gatherscatter\.torch"):
        TRACES[trace](ARRAY_CALLS[name], TABLE)


def test_freed_storages() -> None:
    for size in (0, 47):
        table = TABLE.clone()
        table.untyped_storage().resize_(size)
        for name in CALLS:
            if name.startswith("scatter") or name in ("gather", "offsets"):
                with pytest.raises(gs.OpValueError, match="storage"):
                    CALLS[name](table)


def test_empty_tensors_and_large_results() -> None:
    assert gst.gather(TABLE, torch.zeros(0, dtype=torch.int64)).shape == (0, 3)
    assert gst.gather_reduce(TABLE, torch.zeros(2, 0, dtype=torch.int64)).tolist() == [[0] * 3] * 2
    large = gst.gather(TABLE, torch.zeros(1_000_000, dtype=torch.int32))
    assert large.shape == (1_000_000, 3)
    before = gs.pool_size()
    del large
    assert gs.pool_size() >= before
