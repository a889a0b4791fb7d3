"""The table of the adapters."""

from __future__ import annotations

from tests.contract.adapter import Adapter, Lists, NumPy
from tests.contract.compiled import CInterface, OnnxRuntime
from tests.contract.exported import OnnxExport, TorchExport
from tests.contract.jax_adapters import Jax, JaxArrays, JaxCompiled
from tests.contract.stores import Dask, XArray, Zarr
from tests.contract.torch_adapters import DeviceTensors, GatherscatterTorch, Torch, TorchDevice

ADAPTERS: dict[str, Adapter] = {
    each.name: each
    for each in (NumPy(), Lists(), Torch(), DeviceTensors(), GatherscatterTorch(), TorchDevice(), TorchExport(),
                 OnnxExport(), JaxArrays(), Jax(), JaxCompiled(), Dask(), Zarr(), XArray(), CInterface(), OnnxRuntime())
}  # fmt: skip
"""The adapters, by name."""
