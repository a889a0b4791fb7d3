"""The words that parameters accept, and the element types of quantized tables.

This module uses only the standard library, because the build reads it.
"""

from __future__ import annotations

MODES = {False: ("raise", "wrap", "clip", "fill"), True: ("raise", "wrap", "clip", "drop")}  # of gathers, of scatters
NEGATIVE = ("end", "error", "skip")
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")
BAG_REDUCTIONS = ("add", "mul", "min", "max", "mean")
BAG_STATISTICS = (  # gather_reduce has these, too
    *("var", "std", "first", "last", "any", "all", "argmin", "argmax"),
    "count",
)
ACCUMULATE = ("step", "wide", "exact")
CODE_TYPES = (  # of quantized tables
    *("uint8", "int8", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "float4_e2m1fn",
)
SCALE_TYPES = ("float32", "float16", "bfloat16")
WITHOUT_ACCUMULATE = ("none", "min", "max")  # the reductions that ignore it
