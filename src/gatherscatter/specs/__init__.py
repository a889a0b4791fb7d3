"""Op versions, and calls of them. Other programs import the names from here."""

from gatherscatter.arrays.casts import dtype_of
from gatherscatter.arrays.convert import element_type
from gatherscatter.operation import REQUIRED
from gatherscatter.specs.calls import GENERIC_REDUCTIONS, call, make_operation
from gatherscatter.specs.own_operators import OWN_OPERATORS
from gatherscatter.specs.rows import (
    DOMAIN,
    DOMAIN_VERSION,
    FLOATS,
    INDEX_RANGES,
    INTEGERS,
    NARROW,
    ONNX_24,
    Attribute,
    Input,
)
from gatherscatter.specs.table import OpVersion, find, op, ops

__all__ = [
    "DOMAIN",
    "DOMAIN_VERSION",
    "FLOATS",
    "GENERIC_REDUCTIONS",
    "INDEX_RANGES",
    "INTEGERS",
    "NARROW",
    "ONNX_24",
    "OWN_OPERATORS",
    "REQUIRED",
    "Attribute",
    "Input",
    "OpVersion",
    "call",
    "dtype_of",
    "element_type",
    "find",
    "make_operation",
    "op",
    "ops",
]
