"""JAX: NumPy's functions as it has them, and ``.at``."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.recipe import Plan, fused, plan
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime, names_of
from gatherscatter.versions import ONNX_24

_TYPES = tuple(name for name in ONNX_24 if name != "string")
_METHODS = {"none": "set", "add": "add", "sub": "subtract", "mul": "multiply", "min": "min", "max": "max"}
_TUPLE = "at = tuple(jnp.moveaxis(indices, -1, 0))\n"
_GRID = "at = list(jnp.indices(indices.shape, sparse=True))\nat[{axis}] = indices\nat = tuple(at)\n"


class Jax(Runtime):
    """take, take_along_axis, indexing, ``.at[]`` and dynamic_update_slice, in JAX's default of 32 bits."""

    name: ClassVar[str] = "jax"
    title: ClassVar[str] = "JAX recipes"
    package: ClassVar[str] = "jax"
    modules: ClassVar[tuple[str, ...]] = ("jax",)
    setup: ClassVar[str] = "import jax, jax.numpy as jnp"
    recipe: ClassVar[bool] = True

    def source(self, case: Case) -> str:
        """JAX arrays, the recipe, and an array again."""
        how = plan(case, _TYPES)
        if how.kernel.startswith("gather"):
            body = _gather(how)
        elif how.kernel == "tensor_scatter":
            body = _tensor_scatter(how)
        else:
            body = _scatter(how)
        given = [name for name, array in zip(names_of(case), case.inputs, strict=False) if array is not None]
        into = "".join(f"{name} = jnp.asarray({name})\n" for name in given if name != "axis")
        return into + body + "got = np.asarray(got)\n" + fused(case, how)


class Jax64(Jax):
    """The same with 64 bits enabled."""

    name: ClassVar[str] = "jax-x64"
    title: ClassVar[str] = "JAX recipes, jax_enable_x64"
    setup: ClassVar[str] = f"{Jax.setup}\njax.config.update('jax_enable_x64', True)"


def _gather(how: Plan) -> str:
    if how.kernel == "gather_elements":
        return f"got = jnp.take_along_axis(data, indices, axis={how.axis})\n"
    one = "data[tuple(jnp.moveaxis(indices, -1, 0))]"
    if how.kernel == "gather":
        one = f"jnp.take(data, indices, axis={how.axis - how.batch_dims})"
    if how.batch_dims <= 0:
        return f"got = {one}\n"
    function = f"lambda data, indices: {one}"
    for _ in range(how.batch_dims):
        function = f"jax.vmap({function})"
    return f"got = {function}(data, indices)\n"


def _scatter(how: Plan) -> str:
    if how.reduction not in _METHODS:
        raise NotAskedError(f".at[] has no {how.reduction}")
    if not how.include_self and how.reduction != "none":
        raise NotAskedError(".at[] reduces into what is there")
    if how.kernel == "scatter_update":
        return f"got = data.at{how.at('indices')}.set(updates)\n"
    at = _TUPLE if how.kernel == "scatter_nd" else _GRID.format(axis=how.axis)
    return f"{at}got = data.at[at].{_METHODS[how.reduction]}(updates)\n"


def _tensor_scatter(how: Plan) -> str:
    starts = "starts = jnp.zeros(len(past_cache), int) if write_indices is None else write_indices\n"
    if how.mode == "circular":
        places = f"(start + jnp.arange(update.shape[{how.axis}])) % past_cache.shape[{how.axis}]"
        body = f"past.at[{':, ' * (how.axis - 1)}{places}].set(new)"
    else:
        body = f"jax.lax.dynamic_update_slice_in_dim(past, new, start, {how.axis - 1})"
    return f"{starts}got = jax.vmap(lambda past, new, start: {body})(past_cache, update, starts)\n"
