"""The table of op versions, under its public name."""

from gatherscatter.arrays.convert import element_type
from gatherscatter.specs.table import INDEX_RANGES, REQUIRED, Attribute, Input, OpVersion, find, op, ops

__all__ = ["INDEX_RANGES", "REQUIRED", "Attribute", "Input", "OpVersion", "element_type", "find", "op", "ops"]
