"""JAX: jnp.take with a negative int8 index on an axis of 128 or more returns NaN."""

import sys

import jax
import jax.numpy as jnp

TEXT = 'JAX, jax.numpy.take: The default mode="fill" returns invalid values (e.g. NaN) for out-of bounds indices'
data = jnp.arange(200.0)
result = jnp.take(data, jnp.array([-1], jnp.int8))

expected = f"{jnp.take(data, jnp.array([-1], jnp.int32))}, as for int32"
observed = result
departs = bool(jnp.isnan(result[0]))

print("release  ", "jax", jax.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
