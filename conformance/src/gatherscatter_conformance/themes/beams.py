"""GatherTree: beams followed through their parents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import FLOATS, INTEGERS, ROWS
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall
from gatherscatter_conformance.themes.values import array, ramp

ROW = ROWS["openvino.GatherTree-1"]
STEPS = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]
PARENTS = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]]


def drafts() -> Iterator[CaseDraft]:
    """Every numeric type that can count to ten, lengths, end tokens, and parents that are not a beam."""
    for name in (*INTEGERS, *FLOATS):
        yield from _beams(name)
    for name in ("int32", "float32"):
        yield from _parents(name)
        yield from _shapes(name)
    yield from _other_types()


def _tree(name: str, steps: Any, parents: Any, lengths: Any, end: Any) -> DraftedCall:
    return DraftedCall([array(name, steps), array(name, parents), array(name, lengths), array(name, end)], {})


def _beams(name: str) -> Iterator[CaseDraft]:
    for label, lengths, end, stated in (
        ("full length", [3], 10, [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]]),
        ("an end token on the way", [3], 6, [[[2, 2, 2]], [[6, 5, 6]], [[6, 8, 6]]]),
        ("length 2", [2], 10, [[[1, 2, 2]], [[4, 5, 6]], [[10, 10, 10]]]),
        ("length 1", [1], 10, [[[1, 2, 3]], [[10] * 3], [[10] * 3]]),
        ("end token first", [3], 2, [[[2, 2, 2]], [[2, 2, 2]], [[2, 2, 2]]]),
    ):
        yield CaseDraft(
            ROW.name, "beams", label, _tree(name, STEPS, PARENTS, lengths, end), ("2.9", "types"), stated=stated
        )
    longer = _tree(name, STEPS, PARENTS, [7], 10)
    yield CaseDraft(ROW.name, "beams", "longer than the steps", longer, ("2.9", "V15"))
    for length in (0, -1) if not name.startswith("uint") else (0,):
        label = f"length {length}".replace("-", "m")
        yield CaseDraft(ROW.name, "beams", label, _tree(name, STEPS, PARENTS, [length], 10), ("2.9", "V15"))
    both = np.concatenate([STEPS, STEPS], axis=1)
    of_both = np.concatenate([PARENTS, PARENTS], axis=1)
    yield CaseDraft(ROW.name, "beams", "two batches", _tree(name, both, of_both, [3, 2], 6), ("2.9",))


def _parents(name: str) -> Iterator[CaseDraft]:
    for bad in (3, -1, 100):
        text = str(bad).replace("-", "m")
        broken = np.array(PARENTS)
        broken[2, 0, 1] = bad
        yield CaseDraft(ROW.name, "out of range", f"parent {text}", _tree(name, STEPS, broken, [3], 10), ("V15",))
        unused = np.array(PARENTS)
        unused[0] = bad
        label = f"parent {text} of the first step"
        yield CaseDraft(ROW.name, "beams", label, _tree(name, STEPS, unused, [3], 10), ("V15",))
        past = np.array(PARENTS)
        past[2] = bad
        yield CaseDraft(ROW.name, "beams", f"parent {text} past the end", _tree(name, STEPS, past, [2], 10), ("V15",))


def _shapes(name: str) -> Iterator[CaseDraft]:
    for shape in ((0, 2, 3), (2, 0, 3), (2, 2, 0)):
        label = "shape " + " ".join(map(str, shape))
        ids = ramp(name, shape)
        nothing = _tree(name, ids, np.zeros(shape), np.zeros(shape[1]), 0)
        yield CaseDraft(ROW.name, "empty", label, nothing, ("2.9", "2.11"))
    ids, lengths, end = array(name, np.zeros((3, 2, 4))), array(name, [3, 3]), array(name, 0)
    for label, inputs in (
        ("fewer parents", [ids, ids[:2], lengths, end]),
        ("rank 2", [ids[0], ids[0], lengths, end]),
        ("fewer lengths", [ids, ids, lengths[:1], end]),
        ("lengths of rank 2", [ids, ids, lengths[:, None], end]),
        ("an end token of rank 1", [ids, ids, lengths, array(name, [0])]),
    ):
        yield CaseDraft(ROW.name, "shape", label, DraftedCall(list(inputs), {}), ("2.9",))
    unknown = DraftedCall([ids, ids, lengths, end], {"axis": 0})
    yield CaseDraft(ROW.name, "attribute", "an attribute axis", unknown, ("attributes",))
    mixed = DraftedCall([ids, ids.astype("int64"), lengths, end], {})
    yield CaseDraft(ROW.name, "type", "parents of int64", mixed, ("2.9", "types"))


def _other_types() -> Iterator[CaseDraft]:
    for name in (*ROW.types, "string", "complex64"):
        if name in (*INTEGERS, *FLOATS):
            continue
        one = ramp(name, (1, 1, 1))
        made = DraftedCall([one, one, one[0, 0], one[0, 0, 0:1].reshape(())], {})
        kind = "plain" if name in ROW.types else "type"
        yield CaseDraft(ROW.name, kind, "one step", made, ("2.9", "types", "V18"))
