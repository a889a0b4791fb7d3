"""TensorScatter: writing into a cache, straight or around its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gatherscatter.oracle import ROWS
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall, i64
from gatherscatter_conformance.themes.values import edges, ramp

ROW = ROWS["onnx.TensorScatter-24"]
SAMPLES = ("float32", "float16", "int64")


def drafts() -> Iterator[CaseDraft]:
    """All types, both modes, positions and axes."""
    for name in ROW.types:
        yield _draft("plain", "one step", name, (2, 3), (2, 1), [1, 2], axis=1)
        yield _draft("plain", "heads", name, (2, 2, 3, 1), (2, 2, 1, 1), [0, 2])
        yield _draft("ring", "around the end", name, (2, 3), (2, 2), [2, 1], axis=1, mode="circular")
        special = edges(name)
        whole = DraftedCall([ramp(name, (1, special.size)), special.reshape(1, -1), None], {"axis": 1})
        yield CaseDraft(ROW.name, "plain", "edges of the type", whole, ("2.8", "types"))
    for name in SAMPLES:
        yield from _positions(name)
        yield from _shapes(name)
    yield from _refused()


def _draft(
    kind: str, label: str, name: str, past: tuple[int, ...], update: tuple[int, ...], at: list[int] | None,
    *, rules: tuple[str, ...] = (), **attributes: Any,
) -> CaseDraft:  # fmt: skip
    indices = None if at is None else i64(at)
    made = DraftedCall([ramp(name, past), ramp(name, update, start=5), indices], attributes)
    return CaseDraft(ROW.name, kind, label, made, ("2.8", *rules))


def _positions(name: str) -> Iterator[CaseDraft]:
    past, update = (2, 4), (2, 2)
    for mode in ("linear", "circular"):
        for at in ([0, 2], [1, 1], None):
            listed = "no write indices" if at is None else "at " + " ".join(map(str, at))
            yield _draft("ring", f"{listed} {mode}", name, past, update, at, rules=("O23",), axis=1, mode=mode)
    for at in ([3, 0], [4, 7], [9, 1 << 40], [(1 << 63) - 1, 0]):
        listed = " ".join(map(str, at))
        yield _draft(
            "ring", f"beyond the end at {listed}", name, past, update, at, rules=("O23",), axis=1, mode="circular"
        )
    for at in ([-1, 3], [-6, 0], [-(1 << 63), 1]):
        listed = " ".join(map(str, at)).replace("-", "m")
        yield _draft("ring", f"below zero at {listed}", name, past, update, at, rules=("O23",),
                     axis=1, mode="circular")  # fmt: skip
        yield _draft("out of range", f"below zero at {listed}", name, past, update, at, rules=("O23",), axis=1)
    for at in ([3, 0], [0, 4], [1 << 62, 0], [(1 << 63) - 1, 0]):
        listed = " ".join(map(str, at))
        yield _draft("out of range", f"beyond the end at {listed}", name, past, update, at, rules=("O23",), axis=1)


def _shapes(name: str) -> Iterator[CaseDraft]:
    for axis in (None, 1, 2, 3, -1, -3):
        label = "default axis" if axis is None else f"axis {axis}".replace("-", "m")
        past, update = [2, 3, 3, 3], [2, 3, 3, 3]
        update[-2 if axis is None else axis] = 2
        more: dict[str, Any] = {} if axis is None else {"axis": axis}
        for mode in ("linear", "circular"):
            yield _draft(
                "axis", f"{label} {mode}", name, tuple(past), tuple(update), [1, 0], rules=("axis",), mode=mode, **more
            )
    # There are more batches and heads than positions in the cache. Only positions are taken modulo the cache's length.
    yield _draft("ring", "more batches than steps", name, (4, 3, 2, 1), (4, 3, 1, 1), [0, 1, 1, 0], rules=("O22",))
    label = "more batches than steps, circular"
    yield _draft("ring", label, name, (4, 3, 2, 1), (4, 3, 1, 1), [2, 1, 3, 0], rules=("O22",), mode="circular")
    yield _draft("plain", "the whole cache", name, (2, 3), (2, 3), [0, 0], axis=1)
    yield _draft("ring", "the whole cache around", name, (2, 3), (2, 3), [1, 2], axis=1, mode="circular")
    yield _draft("empty", "an update of no steps", name, (2, 3), (2, 0), [1, 3], rules=("2.11",), axis=1)
    yield _draft("empty", "an update of no steps, no indices", name, (2, 3, 2), (2, 0, 2), None, rules=("2.11",))
    yield _draft("empty", "no batches", name, (0, 3), (0, 1), [], rules=("2.11",), axis=1)
    yield _draft("empty", "a cache of no steps", name, (2, 0), (2, 0), None, rules=("2.11",), axis=1)


def _refused() -> Iterator[CaseDraft]:
    name = "float32"
    for axis in (0, -3, 3, -4):
        label = f"axis {axis} of rank 3".replace("-", "m")
        yield _draft("axis", label, name, (2, 4, 3), (2, 2, 3), None, rules=("axis",), axis=axis)
    for mode in ("linear", "circular"):
        yield _draft("shape", f"longer than the cache, {mode}", name, (2, 4, 3), (2, 5, 3), None, mode=mode)
    for shape in ((1, 2, 3), (2, 2, 2), (2, 2), (2, 2, 3, 1)):
        listed = " ".join(map(str, shape))
        yield _draft("shape", f"an update of shape {listed}", name, (2, 4, 3), shape, None)
    past, update = ramp(name, (2, 4, 3)), ramp(name, (2, 2, 3))
    for label, indices in (("too many", i64([0, 0, 0])), ("of rank 2", i64([[0], [0]])), ("scalar", i64(0))):
        yield CaseDraft(ROW.name, "shape", f"write indices {label}", DraftedCall([past, update, indices], {}), ("2.8",))
    for index in ("int32", "uint64", "float32"):
        indices = np.zeros(2, index)
        yield CaseDraft(
            ROW.name, "index type", f"{index} write indices", DraftedCall([past, update, indices], {}), ("O21",)
        )
    yield _draft("attribute", "mode ring", name, (2, 4, 3), (2, 2, 3), None, rules=("attributes",), mode="ring")
    yield _draft("attribute", "mode Linear", name, (2, 4, 3), (2, 2, 3), None, rules=("attributes",), mode="Linear")
    yield _draft("scalar", "a vector", name, (4,), (2,), None, rules=("O25",), axis=0)
    other = DraftedCall([past, ramp("int32", (2, 2, 3)), None], {})
    yield CaseDraft(ROW.name, "type", "an update of int32", other, ("types",))
