"""JAX: 64-bit indices in a NumPy array are taken modulo 2**32."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

TEXT = (
    "JAX, jax.numpy.ndarray.at, mode: out-of-bounds indices in get() will be clipped, and out-of-bounds indices "
    "in set(), add(), etc. will be dropped"
)
result = jnp.arange(8.0)[np.array([2**32 + 3])]

expected = "[7.], the index clipped to the last element"
observed = result
departs = bool(result[0] == 3)

print("release  ", "jax", jax.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
