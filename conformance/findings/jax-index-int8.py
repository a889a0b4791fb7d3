"""JAX: x[i] and x.at[i] refuse every int8 index on an axis of 128 or more."""

import sys

import jax
import jax.numpy as jnp

TEXT = (
    "JAX, jax.numpy.ndarray.at, wrap_negative_indices: negative indices indicate position from the end of the "
    "array, similar to Python and NumPy indexing"
)
data = jnp.arange(200.0)
expected = "[3.]"
try:
    observed, departs = data[jnp.array([3], jnp.int8)], False
except OverflowError as error:
    observed, departs = error, True

print("release  ", "jax", jax.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
