"""Block-quantized tables in PyTorch's tensors."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("scale_type", [torch.float32, torch.float16, torch.bfloat16])
def test_tensors_give_tensors(scale_type: torch.dtype) -> None:
    data = torch.randint(0, 256, (5, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    scales = torch.linspace(0.5, 2, 10).reshape(5, 2).to(scale_type)
    indices = torch.tensor([[4, 0], [-1, 2]])
    result = gs.gather_quantized(data, indices, scales, block_size=16)
    assert result.dtype == scale_type
    codes = torch.stack([data & 15, data >> 4], -1).reshape(5, 32)
    table = ((codes.float() - 8) * scales.float().repeat_interleave(16, 1)).to(scale_type)
    assert torch.equal(result, table[indices])
    out = torch.empty_like(result)
    assert gs.gather_quantized(data, indices, scales, block_size=16, out=out) is out
    assert torch.equal(out, result)


def test_the_result_is_checked_like_that_of_numpy() -> None:
    with pytest.raises(gs.OpIndexError, match=r"indices\[1\] = 5 is out of range"):
        gs.gather_quantized(torch.zeros((5, 8), dtype=torch.uint8), torch.tensor([0, 5]), torch.ones((5, 1)))
    with pytest.raises(TypeError, match="data is a NumPy array"):
        gs.gather_quantized(np.zeros((5, 8), np.uint8), torch.tensor([0]), torch.ones((5, 1)))
