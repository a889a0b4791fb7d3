"""Arrays of PyTorch, JAX and DLPack are used without copies, and results have the caller's kind."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OpIndexError, OpTypeError
from tests.support.byte_order import swapped

torch: Any = pytest.importorskip("torch")
jax: Any = pytest.importorskip("jax")
jnp = jax.numpy


class Holder:
    """An array of an unknown library that supports only DLPack."""

    def __init__(self, values: np.ndarray, device: int = 1) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


def test_operators_and_methods_return_the_callers_kind() -> None:
    """contract/test_values.py has the array functions and prepared indices."""
    data, rows = torch.ones(3, 4), torch.tensor([0, 2])
    assert isinstance(gs.onnx.Gather(data, rows), torch.Tensor)
    assert isinstance(gs.openvino.Gather(data, rows, torch.tensor(0)), torch.Tensor)
    cache = torch.zeros(2, 3, 4)
    assert gs.tensor_scatter(cache, torch.ones(2, 1, 4), torch.tensor([0, 2]), out=cache) is cache
    assert cache.sum() == 8
    with pytest.raises(OpTypeError, match="gradient"):
        gs.gather_reduce(data.requires_grad_(), rows[None])


def test_prepared_indices_of_another_library() -> None:
    data, rows = torch.ones(3, 4), torch.tensor([0, 2])
    prepared = gs.prepare(rows, 3)
    assert isinstance(prepared.sum(jnp.ones((2, 1))), jax.Array)
    assert isinstance(gs.prepare([[0, 1], [0, 2]], (3, 3)).propagate(jnp.ones((3, 2))), jax.Array)
    with pytest.raises(OpTypeError, match="data is a PyTorch tensor, but updates is a NumPy array"):
        prepared.scatter(data, np.ones((2, 4), np.float32))
    assert gs.plan("gather", data, rows).threads == 1
    of_bags = gs.plan("gather_reduce", torch.ones(50, 6), torch.zeros(4, 3, dtype=torch.int64))
    assert (of_bags.movement.count, of_bags.movement.members, of_bags.scratch_bytes) == (4, 12, 5 * 8)
    assert gs.inspect(rows, data.shape, axis=0).count == 2


def test_lists_numbers_and_buffers_go_with_every_kind() -> None:
    assert isinstance(gs.gather(torch.ones(3), [0, 1]), torch.Tensor)
    assert isinstance(gs.gather(jnp.ones(3), array.array("q", [0, 1])), jax.Array)
    assert isinstance(gs.gather(memoryview(np.ones(3)), [0]), np.ndarray)
    assert isinstance(gs.scatter_nd(torch.ones(3), [[0]], [2.0]), torch.Tensor)


def test_lazy_conjugates_and_no_grad() -> None:
    data = torch.tensor([1 + 2j, 3 - 1j]).conj()
    assert gs.gather(data, torch.tensor([0])).tolist() == [1 - 2j]
    weight = torch.nn.Parameter(torch.ones(3))
    with torch.no_grad():
        assert gs.gather(weight, torch.tensor([0])).tolist() == [1]


def test_dlpack() -> None:
    assert gs.gather(Holder(np.arange(4.0)), [3]).tolist() == [3]
    with pytest.raises(OpTypeError, match="data is not in the memory of the CPU"):
        gs.gather(Holder(np.arange(4.0), device=2), [3])
    with pytest.raises(OpTypeError, match="can't be taken by DLPack"):
        gs.gather(Holder(np.arange(4.0).astype(swapped("f8"))), [3])


ROWS, NUMPY_ROWS = torch.tensor([0]), np.array([0])
FAULTS = {
    "data is a PyTorch tensor, but indices is a NumPy array; convert one": lambda: gs.gather(torch.ones(3), NUMPY_ROWS),
    "indices is a PyTorch tensor, but data is a NumPy array": lambda: gs.gather(np.ones(3), ROWS),
    "data is a JAX array, but indices is a PyTorch tensor": lambda: gs.gather(jnp.ones(3), ROWS),
    "data has a gradient, which would be lost; use data.detach(), or gatherscatter.torch.gather without out=": lambda: (
        gs.gather(torch.ones(3, requires_grad=True), ROWS)
    ),
    "data is a sparse tensor; use data.to_dense()": lambda: gs.gather(torch.eye(3).to_sparse(), ROWS),
    "data is on the meta device": lambda: gs.gather(torch.ones(3, device="meta"), ROWS),
    "data can't be taken from PyTorch": lambda: gs.gather(torch.ones(3, dtype=torch.complex32), ROWS),
    "out is a JAX array, which can't be changed": lambda: gs.gather(jnp.ones(3), jnp.array([0]), out=jnp.ones(1)),
    "data is being traced by JAX": lambda: jax.jit(lambda x: gs.gather(x, [0]))(jnp.ones(3)),
    "cache is a PyTorch tensor, but update is a NumPy": lambda: gs.tensor_scatter(
        torch.ones(1, 2, 3), np.ones((1, 1, 3))
    ),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("text", FAULTS)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(OpTypeError) as caught:
        FAULTS[text]()
    assert text in str(caught.value)


def test_errors_are_those_of_numpy() -> None:
    out = torch.zeros(1)
    with pytest.raises(OpIndexError, match=r"indices\[0\] = 5 is out of range"):
        gs.gather(torch.ones(3), torch.tensor([5]), out=out)
    assert out.tolist() == [0]


class WithoutModule:
    """An object that NumPy reads. Its class has no module, like some classes that C code makes."""

    __module__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.arange(3.0)


def test_classes_without_module() -> None:
    assert gs.gather(WithoutModule(), [2, 0]).tolist() == [2, 0]


def test_errors_name_the_lazy_array() -> None:
    da: Any = pytest.importorskip("dask.array")
    data, lazy = np.arange(12.0).reshape(6, 2), da.arange(6, chunks=2)
    steps = np.zeros((2, 1, 2), np.int32)
    calls: dict[str, Any] = {
        "key[0]": lambda: gs.at(data)[lazy].get(),
        "indices": lambda: gs.gather_quantized(np.zeros((6, 2), np.uint8), lazy, np.ones((6, 1), np.float32)),
        "parent_ids": lambda: gs.gather_tree(steps, da.from_array(steps), np.array([2], np.int32), 1),
        "updates": lambda: gs.prepare([0, 1], 6).scatter(data, da.ones((2, 2))),
        "scales": lambda: gs.gather_reduce(np.zeros((6, 2), np.uint8), segment_ids=[0] * 6, scales=da.ones((6, 1))),
    }
    for name, call in calls.items():
        with pytest.raises(OpTypeError) as caught:
            call()
        assert caught.value.input == name
        assert f"{name} is a Dask array, and this is not lazy" in str(caught.value)
