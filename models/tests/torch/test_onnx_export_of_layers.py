"""Layers of PyTorch Geometric export to ONNX and give PyTorch's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch_geometric")

from torch_geometric.nn import GATConv, GCNConv, PNAConv, SAGEConv

from tests.support.exports import export, run_gatherscatter, run_onnxruntime

pytestmark = pytest.mark.full
torch.manual_seed(0)
LAYERS: dict[str, Any] = {
    "GCN": lambda: GCNConv(5, 4),
    "GAT": lambda: GATConv(5, 4, heads=2),
    "SAGE mean": lambda: SAGEConv(5, 4, aggr="mean"),
    "SAGE max": lambda: SAGEConv(5, 4, aggr="max"),
    "PNA": lambda: PNAConv(
        5, 4, ["mean", "min", "max", "std", "sum"], ["identity", "amplification"], torch.tensor([0, 2, 3, 1])
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_the_results_of_pytorch(name: str) -> None:
    layer = LAYERS[name]().eval()
    nodes = torch.randn(6, 5)
    edges = torch.tensor([[0, 1, 1, 2, 5, 5, 3], [1, 0, 2, 2, 0, 1, 0]])
    model = export(layer, (nodes, edges), aten=True).model_proto
    assert not {node.op_type for node in model.graph.node} & {"Loop", "SequenceAt"}
    for drawn in (edges, torch.randint(0, 6, edges.shape)):
        expected = layer(nodes, drawn).detach().numpy()
        names = [info.name for info in model.graph.input]
        arrays = dict(zip(names, (nodes.numpy(), drawn.numpy()), strict=True))
        for run in (run_onnxruntime, run_gatherscatter):
            assert np.allclose(run(model, arrays)[0], expected, atol=1e-5)
