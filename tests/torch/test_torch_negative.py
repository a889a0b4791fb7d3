"""Tensors of indices and segment ids that name nothing, in place, in gradients and on devices."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
import torch

import gatherscatter as gs
import gatherscatter.torch as gst
from gatherscatter.operation import Kernel, make_operation
from gatherscatter.torch.device import kernels


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.uint64])
def test_gradients_with_segment_ids_of_any_type(dtype: torch.dtype) -> None:
    data = torch.arange(10.0).reshape(5, 2).requires_grad_()
    ids = torch.tensor([0, -1 if dtype.is_signed else 3, 100]).to(dtype)
    result = gst.gather_reduce(data, torch.tensor([0, 1, -2]), segment_ids=ids, num_segments=256, negative="skip")
    result.sum().backward()
    kept = [[1, 1], [0, 0] if dtype.is_signed else [1, 1], *[[0, 0]] * 3]
    assert data.grad is not None
    assert data.grad.tolist() == kept


def on_device(data: torch.Tensor, indices: torch.Tensor | None = None, **options: object) -> torch.Tensor:
    arrays = {"segment_ids": options.pop("segment_ids")}
    operation = make_operation(Kernel.GATHER_REDUCE, {"negative": "skip", **options})
    return kernels.gather_reduce(operation, data, indices, **arrays)  # type: ignore[arg-type]


@pytest.mark.parametrize("num_segments", [None, 0, 2])
def test_no_member_names_a_bag_on_a_device(num_segments: int | None) -> None:
    data, ids = torch.ones(5, 2), torch.full((5,), -1)
    made = on_device(data, segment_ids=ids, num_segments=num_segments)
    assert made.tolist() == [[0, 0]] * (num_segments or 0)


def test_a_large_unsigned_segment_id_is_too_large_on_a_device() -> None:
    ids = torch.tensor([0, 2**63, 0], dtype=torch.uint64)
    with pytest.raises(gs.OpIndexError, match=r"segment_ids\[1\] = 9223372036854775808"):
        on_device(torch.ones(5, 2), torch.tensor([-1, 0, 1]), segment_ids=ids, num_segments=2)


def test_padding_leaves_the_last_slot_of_a_cache_alone() -> None:
    """vllm-project/vllm#43810, with tensors."""
    slots, states = torch.tensor([79, 40, -1, -1]), torch.arange(32.0).reshape(4, 8)
    cache = torch.zeros(80, 8)
    gs.scatter_update(cache, slots, states, negative="skip", out=cache)
    assert cache[79].tolist() == states[0].tolist()
    assert cache[40].tolist() == states[1].tolist()
    assert int(cache.count_nonzero()) == 15
