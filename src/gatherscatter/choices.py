"""The words that parameters accept. This module uses only the standard library, because the build reads it."""

from __future__ import annotations

MODES = {False: ("raise", "wrap", "clip", "fill"), True: ("raise", "wrap", "clip", "drop")}  # of gathers, of scatters
REDUCTIONS = ("none", "add", "sub", "mul", "min", "max", "mean")
BAG_REDUCTIONS = ("add", "mul", "min", "max", "mean")
ACCUMULATE = ("step", "wide", "exact")
WITHOUT_ACCUMULATE = ("none", "min", "max")  # the reductions that ignore it
