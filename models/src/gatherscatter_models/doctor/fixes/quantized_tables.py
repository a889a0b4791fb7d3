"""Rewritings of gathers from block-quantized tables."""

from __future__ import annotations

import numpy as np

from gatherscatter.specs.table import codes_per_byte
from gatherscatter_models.doctor.fixes.draft import ModelDraft, UnfixableError


def give_zero_points(draft: ModelDraft) -> None:
    """Add the zero points that the specification defines if none are given."""
    kind, bits = draft.data.element_type, draft.attributes.get("bits")
    shape = draft.tensor("scales").shape
    if kind is None or bits is None or shape is None or None in shape:
        raise UnfixableError("the type of its table, or the shape of its scales, is unknown")
    sizes = [size for size in shape if size is not None]
    sizes[-1] = -(-sizes[-1] // codes_per_byte(kind, bits))
    zero = {2: 0b10101010, 4: 0x88, 8: 0x80}[bits] if kind == "uint8" else 0
    draft.inputs["zero_points"] = draft.constant(np.full(sizes, zero, draft.data.dtype))
    draft.settled.add("no zero points")
