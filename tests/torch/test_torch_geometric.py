"""PyTorch Geometric with gatherscatter.torch.segment instead of torch_scatter, against PyTorch."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

for _name in ("torch", "torch_geometric"):
    if importlib.util.find_spec(_name) is None:
        pytest.skip(f"{_name} is not installed", allow_module_level=True)

# The lines of docs/coming-from/torch_scatter.md, and calls that then use these functions. It runs in a separate
# process, because torch_geometric looks for torch_scatter when it is imported.
PROGRAM = """
import sys
import gatherscatter.torch.segment as segment

sys.modules["torch_scatter"] = segment

import torch
import torch_geometric
from torch_geometric.nn import GCNConv, SAGEConv
from torch_geometric.nn.aggr import MaxAggregation
from torch_geometric.utils import scatter, softmax

assert torch_geometric.typing.torch_scatter is segment

called = []
for name in ("segment_csr", "scatter_max"):
    def counted(*inputs, _name=name, _function=getattr(segment, name), **options):
        called.append(_name)
        return _function(*inputs, **options)

    setattr(segment, name, counted)

torch.manual_seed(0)
x, index, pointers = torch.randn(6, 4), torch.tensor([0, 0, 1, 1, 1, 3]), torch.tensor([0, 2, 5, 6])
parts = [x[:2], x[2:5], x[5:]]

for reduce, reducer in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax), ("min", torch.amin)):
    expected = torch.stack([reducer(part, 0) for part in parts])
    torch.testing.assert_close(torch_geometric.utils.segment(x, pointers, reduce=reduce), expected)
expected = torch.cat([part.softmax(0) for part in parts])
torch.testing.assert_close(softmax(x, ptr=pointers), expected)
torch.testing.assert_close(softmax(x.T, ptr=pointers, dim=1), expected.T)  # torch_geometric alone refuses it
torch.testing.assert_close(MaxAggregation()(x, ptr=pointers), torch.stack([part.amax(0) for part in parts]))
assert called == ["segment_csr"] * 9, called
torch_geometric.utils._scatter.scatter_argmax(x[:, 0].clone(), index)
assert called[9:] == ["scatter_max"], called

# These are PyTorch's own on the CPU.
torch.testing.assert_close(scatter(x, index, 0, reduce="max")[[0, 1, 3]], torch.stack([part.amax(0) for part in parts]))
edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0], [1, 0, 3, 2, 5, 4, 2]])
for layer in (GCNConv(4, 3), SAGEConv(4, 3, aggr="max")):
    layer(x, edges).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
assert len(called) == 10, called
"""


def test_pytorch_geometric_takes_the_functions() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
