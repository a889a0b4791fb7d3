"""The oracle: sections 1 and 2 of docs/specification.md in slow, plain Python, written independently of the library.

All elements move one at a time, by full index tuples. Indices are Python integers, so they never overflow. Floats are
computed with NumPy scalars of the element type T, because these operations are correctly rounded in T.

There are three layers, as in the library: the kernels of section 2, `array_call` for the array functions (no versions,
any type), and `call`, which applies one row of the table in section 1. Use it to check your own implementation:

>>> import numpy as np
>>> from gatherscatter import oracle
>>> oracle.call("onnx.ScatterND-18", np.zeros(3), np.array([[1], [1]]), np.array([2.0, 3.0]), reduction="add")
array([0., 5., 0.])

Errors are plain TypeError, ValueError and IndexError. They are raised in the documented order: unknown keyword, types,
attribute values, reduction for this type, shapes, index values. An IndexError has an attribute `position`, the
coordinates of the first bad index.
"""

from gatherscatter.oracle.arithmetic import Reduce, fold, is_reducible, step
from gatherscatter.oracle.array_functions import (
    GATHER_MODES,
    NEGATIVE,
    REDUCTIONS,
    SCATTER_MODES,
    array_call,
    gather_reduce,
)
from gatherscatter.oracle.bags import lowest
from gatherscatter.oracle.caches_and_beams import gather_tree, tensor_scatter
from gatherscatter.oracle.comparison import assert_same, make_comparable_elements
from gatherscatter.oracle.element_types import (
    COMPLEX,
    EIGHT_BIT,
    FLOATS,
    HALVES,
    INTEGERS,
    IX,
    OV_STORAGE,
    OVANY,
    SUMS,
    T16,
    T24,
    as_objects,
    element_type,
    zero_of,
)
from gatherscatter.oracle.indices import IndexRule, axis_input, resolve
from gatherscatter.oracle.op_versions import call, check_reduction, dispatch
from gatherscatter.oracle.quantized import gather_quantized
from gatherscatter.oracle.rationals import FORMATS, exact_sum, round_to_format
from gatherscatter.oracle.rows import GENERIC, REQUIRED, ROWS, OracleRow

__all__ = [
    "COMPLEX",
    "EIGHT_BIT",
    "FLOATS",
    "FORMATS",
    "GATHER_MODES",
    "GENERIC",
    "HALVES",
    "INTEGERS",
    "IX",
    "NEGATIVE",
    "OVANY",
    "OV_STORAGE",
    "REDUCTIONS",
    "REQUIRED",
    "ROWS",
    "SCATTER_MODES",
    "SUMS",
    "T16",
    "T24",
    "IndexRule",
    "OracleRow",
    "Reduce",
    "array_call",
    "as_objects",
    "assert_same",
    "axis_input",
    "call",
    "check_reduction",
    "dispatch",
    "element_type",
    "exact_sum",
    "fold",
    "gather_quantized",
    "gather_reduce",
    "gather_tree",
    "is_reducible",
    "lowest",
    "make_comparable_elements",
    "resolve",
    "round_to_format",
    "step",
    "tensor_scatter",
    "zero_of",
]
