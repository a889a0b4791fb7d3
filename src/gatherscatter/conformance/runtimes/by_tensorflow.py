"""TensorFlow: the operations that it has for this."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.recipe import Plan, fused, plan, widened
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime, names_of
from gatherscatter.versions import ONNX_13

_FUNCTIONS = {"none": "update", "add": "add", "sub": "sub", "min": "min", "max": "max"}


class TensorFlow(Runtime):
    """gather, gather_nd, tensor_scatter_nd_update and its kin, and take_along_axis."""

    name: ClassVar[str] = "tensorflow"
    title: ClassVar[str] = "TensorFlow recipes"
    package: ClassVar[str] = "tensorflow"
    modules: ClassVar[tuple[str, ...]] = ("tensorflow",)
    setup: ClassVar[str] = "import tensorflow as tf"
    recipe: ClassVar[bool] = True

    def source(self, case: Case) -> str:
        """The recipe, on constants."""
        how = plan(case, ONNX_13)
        body = _gather(how) if how.kernel.startswith("gather") else _scatter(how)
        given = [name for name, array in zip(names_of(case), case.inputs, strict=False) if array is not None]
        into = "".join(f"{name} = tf.constant({name})\n" for name in given if name != "axis")
        out = "got = got.numpy()\n"
        if case.type == "string":  # which TensorFlow holds as bytes
            out = "got = np.array(got.numpy(), object)\n"
            out += "got = np.array([text.decode() for text in got.reshape(-1)], object).reshape(got.shape)\n"
        return into + widened(case, "indices = tf.cast(indices, tf.int64)\n") + body + out + fused(case, how)


def _gather(how: Plan) -> str:
    if how.kernel == "gather_elements":
        return f"got = tf.experimental.numpy.take_along_axis(data, indices, axis={how.axis})\n"
    batched = f", batch_dims={how.batch_dims}" if how.batch_dims else ""
    if how.kernel == "gather":
        return f"got = tf.gather(data, indices, axis={how.axis}{batched})\n"
    return f"got = tf.gather_nd(data, indices{batched})\n"


def _scatter(how: Plan) -> str:
    if how.kernel in ("scatter_elements", "tensor_scatter"):
        raise NotAskedError(f"there is no such scatter ({how.kernel})")
    if how.reduction not in _FUNCTIONS:
        raise NotAskedError(f"there is no tensor_scatter_nd for {how.reduction}")
    if how.kernel == "scatter_nd":
        return f"got = tf.tensor_scatter_nd_{_FUNCTIONS[how.reduction]}(data, indices, updates)\n"
    if how.axis:
        raise NotAskedError("there is no scatter along another axis than 0")
    return "got = tf.tensor_scatter_nd_update(data, indices[..., None], updates)\n"
