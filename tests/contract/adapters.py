"""The table of the adapters."""

from __future__ import annotations

from tests.contract.adapter import Adapter, Lists, NumPy
from tests.contract.compiled import CInterface, OnnxRuntime
from tests.contract.frameworks import GatherscatterTorch, Jax, JaxArrays, JaxCompiled, Torch, TorchDevice
from tests.contract.stores import Dask, XArray, Zarr

ADAPTERS: dict[str, Adapter] = {
    each.name: each
    for each in (NumPy(), Lists(), Torch(), GatherscatterTorch(), TorchDevice(), JaxArrays(), Jax(), JaxCompiled(),
                 Dask(), Zarr(), XArray(), CInterface(), OnnxRuntime())
}  # fmt: skip
"""The adapters, by name."""
