"""StableHLO: a window that is partly out of bounds, by the reference interpreter and by XLA on the CPU."""

import jax
import numpy as np
from jax import lax
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

numbers = lax.ScatterDimensionNumbers((1,), (), (0,))
scatter = jax.jit(lambda data, start, updates: lax.scatter_add(data, start, updates, numbers, mode="fill"))
data, updates = np.zeros(5, np.float32), np.ones((1, 3), np.float32)
print("release  ", "jax", jax.__version__, "stablehlo", stablehlo.get_current_version())
for first in (3, -1):
    inputs = data, np.array([[first]], np.int32), updates
    module = str(scatter.lower(*inputs).compiler_ir("stablehlo"))
    with make_ir_context() as context, ir.Location.unknown(context):
        attributes = [ir.DenseElementsAttr.get(array) for array in inputs]
        interpreted = np.array(stablehlo.eval_module(ir.Module.parse(module), attributes)[0])
    print(f"start {first:2}  interpreter {interpreted}  XLA {np.asarray(scatter(*inputs))}")
text = " ".join(lax.GatherScatterMode.__doc__.split())
start = text.index("If any part of a scattered window")
print("JAX text  ", text[start : text.index(".", start) + 1])
