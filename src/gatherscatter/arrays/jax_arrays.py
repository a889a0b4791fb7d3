"""The adapter for JAX. It is imported with the first array of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.system.extras import require

with require("jax", text="arrays of JAX need JAX", install="gatherscatter[jax]"):
    import jax

from gatherscatter.arrays.adapters import Adapter
from gatherscatter.errors import OpTypeError


class JaxAdapter(Adapter):
    """Arrays of JAX in the memory of the CPU."""

    name = "a JAX array"
    converter = "jnp.asarray"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def check(self, op: str, name: str, value: Any) -> None:
        if isinstance(value, jax.core.Tracer):
            other = "use gatherscatter.jax, or " if _has_traceable_form(op) else ""
            text = f"{op}: {name} is being traced by JAX; {other}call this outside of traced functions"
            raise OpTypeError(text, op=op, input=name)

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        self.check(op, name, value)
        if name == "out":
            raise OpTypeError(f"{op}: out is a JAX array, which can't be changed", op=op, input=name)
        platforms = {device.platform for device in value.devices()}
        if platforms != {"cpu"}:
            raise OpTypeError(
                f"{op}: {name} is on {' and '.join(platforms)}; use jax.device_get() and compute here",
                op=op,
                input=name,
            )
        return np.asarray(value)

    def give(self, result: np.ndarray, like: Any = None) -> Any:
        # device_put takes over the memory without a copy. For small arrays, a copy is faster.
        return jax.device_put(result) if result.nbytes > 1 << 16 else jax.numpy.asarray(result)


def _has_traceable_form(op: str) -> bool:
    """Whether gatherscatter.jax can do the same in traced code. Methods of `at` and op versions have other names."""
    return op not in ("tensor_scatter", "gather_tree", "inspect", "plan", "prepare")


JAX = JaxAdapter()
