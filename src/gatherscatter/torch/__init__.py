"""The array functions for PyTorch, with gradients.

They work with `torch.func`, `torch.compile`, `torch.export` and ONNX export. Their names and arguments are those of the
functions of `gatherscatter`, and their results are bit-for-bit identical for tensors on the CPU. docs/guarantees.md has
the promises for tensors on other devices.

`gather_tree` and `tensor_scatter` are the functions of `gatherscatter` itself. They accept tensors, but have no
gradients.
"""

from __future__ import annotations

from gatherscatter.system.extras import require
from gatherscatter.system.lazy_modules import attach

with require("torch", text="gatherscatter.torch needs PyTorch", install="gatherscatter[torch]"):
    import torch  # noqa: F401

from gatherscatter.functions.gather_tree import gather_tree
from gatherscatter.functions.tensor_scatter import tensor_scatter
from gatherscatter.torch.array_functions import (
    gather,
    gather_elements,
    gather_nd,
    gather_reduce,
    scatter_elements,
    scatter_nd,
    scatter_update,
)
from gatherscatter.torch.embedding_bag import EmbeddingBag
from gatherscatter.torch.statistics import aggregate

__all__ = [
    "EmbeddingBag",
    "aggregate",
    "gather",
    "gather_elements",
    "gather_nd",
    "gather_reduce",
    "gather_tree",
    "scatter_elements",
    "scatter_nd",
    "scatter_update",
    "tensor_scatter",
]

__getattr__, __dir__ = attach(
    __name__,
    {"segment": ".segment"},
    moved={name: f"gatherscatter_models.torch.{name}" for name in ("check_export", "onnx_translations")},
)
