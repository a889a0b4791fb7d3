"""Statistics of groups for JAX, with gradients."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gatherscatter.errors import make_error, with_call_errors
from gatherscatter.functions.statistics import composed
from gatherscatter.functions.statistics.layout import LABELS
from gatherscatter.functions.statistics.names import DEFAULT_FILL
from gatherscatter.jax.calls import is_traced

_OP = "aggregate"


@with_call_errors
def aggregate(
    group_idx: Any,
    a: Any,
    func: str = "sum",
    size: int | None = None,
    fill_value: Any = DEFAULT_FILL,
    axis: int = 0,
    *,
    ddof: int | None = None,
) -> jax.Array:
    """Compute a statistic of the values of each group, as `gatherscatter.aggregate` does, with gradients.

    The arguments, results and errors are those of `gatherscatter.torch.aggregate`. Under ``jit``, ``size`` is required,
    and a label that is out of range is an error when the program runs.

    >>> import jax, jax.numpy as jnp, gatherscatter.jax as gsj
    >>> a = jnp.array([1.0, 3.0, 5.0])
    >>> labels = jnp.array([0, 0, 1])
    >>> jax.grad(lambda a: gsj.aggregate(labels, a, "var", 2).sum())(a).tolist()
    [-1.0, 1.0, 0.0]
    """
    labels, values = (
        each if isinstance(each, jax.Array) else jnp.asarray(composed.read_input(name, each))
        for name, each in ((LABELS, group_idx), ("a", a))
    )
    if size is None and is_traced(labels):
        raise make_error("size_needed", _OP)
    framework = composed.Framework(
        jnp,
        sys.modules["gatherscatter.jax"],
        lambda array, dtype: array.astype(dtype),
        lambda array: bool(jnp.issubdtype(array.dtype, jnp.inexact)),
        jnp.result_type(float),
        jnp.result_type(int),
        lambda labels: int(np.asarray(labels).max()) + 1 if labels.size else 0,
        lambda array: array.astype(jnp.float32) if array.dtype in (jnp.float16, jnp.bfloat16) else array,
    )
    return composed.aggregate(_OP, framework, labels, values, func, size, fill_value=fill_value, axis=axis, ddof=ddof)  # type: ignore[no-any-return]
