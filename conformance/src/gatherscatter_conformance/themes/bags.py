"""Embedding bags, embedding segments and SegmentMax: rows that are gathered and reduced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gatherscatter.oracle import FLOATS, HALVES, INTEGERS, ROWS, OracleRow
from gatherscatter_conformance.themes.draft import CaseDraft, DraftedCall
from gatherscatter_conformance.themes.values import array, edges, ramp

BAGS = tuple(row for row in ROWS.values() if row.kernel == "gather_reduce")
TABLE = [[-0.2, -0.6], [-0.1, -0.4], [-1.9, -1.8], [-1.0, 1.5], [0.8, -0.7]]  # of the specifications' examples


def drafts() -> Iterator[CaseDraft]:
    """Yield the examples, every type, empty bags, weights, halves, and calls that do not define bags."""
    yield from _examples()
    for row in BAGS:
        for name in row.types:
            yield from _types(row, name)
        for name in ("float32", "int64"):
            yield from _empty(row, name)
            yield from _bad_values(row, name)
            yield from _shapes(row, name)
        yield from _floats(row)
        yield from _mixed_types(row)


def make_call(
    row: OracleRow,
    data: np.ndarray,
    indices: Any,
    starts: Sequence[int] | np.ndarray,
    index: str = "int64",
    weights: np.ndarray | None = None,
    *,
    default: int | None = None,
    **attributes: Any,
) -> DraftedCall:
    """Bags that begin at ``starts`` among the indices, in the form of an op version. SegmentMax has no indices."""
    rows = array(index, indices)
    ids = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))
    inputs: dict[str, np.ndarray | None] = {
        "emb_table": data,
        "data": data[np.array(indices, int)] if "data" in row.inputs else None,
        "indices": rows.reshape(len(starts), -1) if row.inputs[2:3] == ("per_sample_weights",) else rows,
        "offsets": array(index, starts),
        "segment_ids": array(index, ids),
        "num_segments": array(index, len(starts)),
        "default_index": None if default is None else array(index, default),
        "per_sample_weights": weights,
    }
    if weights is not None and row.inputs[2:3] == ("per_sample_weights",):
        inputs["per_sample_weights"] = weights.reshape(len(starts), -1)
    if "fill_mode" in row.attributes:
        attributes.setdefault("fill_mode", "ZERO")
    return DraftedCall([inputs[name] for name in row.inputs], attributes)


def _change(row: OracleRow, call: DraftedCall, **inputs: np.ndarray | None) -> DraftedCall:
    named = dict(zip(row.inputs, call.inputs, strict=True)) | inputs
    return call._replace(inputs=[named[name] for name in row.inputs])


def _draft(row: OracleRow, kind: str, name: str, call: DraftedCall, *rules: str, stated: Any = None) -> CaseDraft:
    return CaseDraft(row.name, kind, name, call, ("2.12", *rules), stated=stated)


def _examples() -> Iterator[CaseDraft]:
    """Yield the examples of the specifications. Numbers are multiplied by ten, so that float32 holds them exactly."""
    table = array("float32", np.round(np.array(TABLE) * 10))
    halves = array("float32", [0.5] * 4)
    for row in BAGS:
        if row.op_type.startswith("EmbeddingBagOffsets") or row.op_type == "EmbeddingSegmentsSum":
            weighted = make_call(row, table, [0, 2, 3, 4], [0, 2, 2], "int32", halves, default=0)
            yield _draft(row, "example", "example 1", weighted, stated=[[-10.5, -12], [-2, -6], [-1, 4]])
        if row.op_type.startswith("EmbeddingBagPacked"):
            plain = make_call(row, table, [0, 2, 1, 2, 3, 4], [0, 2, 4], "int32")
            yield _draft(row, "example", "example 1", plain, stated=[[-21, -24], [-20, -22], [-2, 8]])
            weighted = make_call(row, table, [0, 2, 1, 2, 3, 4], [0, 2, 4], "int32", array("float32", [0.5] * 6))
            yield _draft(row, "example", "example 2", weighted, stated=[[-10.5, -12], [-10, -11], [-1, 4]])
    row = ROWS["openvino.EmbeddingBagOffsets-15"]
    weights = array("float32", [0.5, 0.25, -2, 1])
    zeros = make_call(row, table, [0, 2, 3, 4], [0, 2, 2], "int32", weights, default=-1)
    yield _draft(row, "example", "example 2", zeros, "V27", stated=[[-5.75, -7.5], [0, 0], [28, -37]])
    mean = make_call(row, table, [0, 2, 3, 4], [0, 2, 2], "int32", reduction="mean")
    yield _draft(row, "example", "example 3", mean, stated=[[-10.5, -12], [0, 0], [-1, 4]])
    row = ROWS["openvino.SegmentMax-16"]
    data, ids = ramp("int32", (8,)), array("int64", [0, 0, 0, 1, 1, 3, 5, 5])
    for mode, empty in (("ZERO", 0), ("LOWEST", -(2**31))):
        call = DraftedCall([data, ids, None], {"fill_mode": mode})
        yield _draft(row, "example", f"detailed description {mode}", call, "V30", stated=[3, 5, empty, 6, empty, 8])


def _types(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    data = ramp(name, (5, 2))
    for index in row.index_types:
        yield _draft(
            row, "bags", f"three bags {index}", make_call(row, data, [0, 2, 1, 3, 4, 0], [0, 2, 4], index), "types"
        )
    repeated = make_call(row, data, [1, 1, 1, 4, 4, 4], [0, 3])
    yield _draft(row, "repeated", "rows that repeat", repeated)
    if "per_sample_weights" in row.inputs:
        weights = ramp(name, 6, start=2)
        yield _draft(row, "bags", "weights", make_call(row, data, [0, 2, 1, 3, 4, 0], [0, 2, 4], weights=weights))
    if "reduction" in row.attributes:
        mean = make_call(row, data, [0, 2, 1, 3, 4, 1], [0, 3], reduction="mean")
        kind = "type" if name == "bool" else "mean"
        yield _draft(row, kind, "means of three", mean, "V31" if name in INTEGERS else "2.10")
    if name in INTEGERS:
        high = array(name, [[np.iinfo(name).max], [np.iinfo(name).min], [1]])
        yield _draft(row, "wrap-around", "beyond the type", make_call(row, high, [0, 2, 1, 0], [0, 2]), "2.10")
    if name in FLOATS:
        values = edges(name)[:, None]
        every = np.repeat(np.arange(len(values)), 2)
        every[1::2] = 1
        yield _draft(row, "nan", "NaN and infinities", make_call(row, values, every, range(0, len(every), 2)), "V17")


def _empty(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    data = ramp(name, (4, 2))
    packed = row.op_type.startswith("EmbeddingBagPacked")
    if packed:
        for reduction in row.choices.get("reduction", ("",)):
            given: dict[str, Any] = {"reduction": reduction} if reduction else {}
            nothing = _change(row, make_call(row, data, [0], [0], **given), indices=np.zeros((3, 0), np.int64))
            yield _draft(row, "empty", f"bags of no members {reduction}".strip(), nothing, "V27")
        no_bags = _change(row, make_call(row, data, [0], [0]), indices=np.zeros((0, 3), np.int64))
        yield _draft(row, "empty", "no bags", no_bags)
        return
    for label, default in (("absent", None), ("minus one", -1), ("the last row", 3)):
        if default is None or "default_index" in row.inputs:
            call = make_call(row, data, [1, 3, 0], [0, 0, 2, 3], default=default)
            yield _draft(row, "empty", f"first and last bag, default {label}", call, "V27")
    yield _draft(row, "empty", "no members", make_call(row, data, [], [0, 0, 0]), "V27")
    yield _draft(row, "empty", "no bags", make_call(row, data, [], np.zeros(0, np.int64)), "2.11")
    yield _draft(row, "empty", "rows without elements", make_call(row, data[:, :0], [0, 1], [0, 1]), "2.11")
    if "fill_mode" in row.attributes:
        lowest = make_call(row, data, [1, 3], [0, 0, 2], fill_mode="LOWEST")
        yield _draft(row, "empty", "the lowest number", lowest, "V30")
        fewer = _change(row, make_call(row, data, [1, 3], [0, 1]), num_segments=None)
        yield _draft(row, "bags", "segments counted by their ids", fewer, "V29")


def _bad_values(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    data, good = ramp(name, (4, 2)), make_call(row, ramp(name, (4, 2)), [0, 3, 1, 2], [0, 2])
    if "indices" in row.inputs:
        for bad in (-1, 4, 2**40):
            label = f"index {bad}".replace("-", "m")
            yield _draft(row, "out of range", label, make_call(row, data, [0, bad, 1, 2], [0, 2]), "range", "V25")
    if "offsets" in row.inputs:
        for label, offsets, rules in (
            ("offset m1", [-1, 2], ("V26",)),
            ("offset beyond the indices", [0, 5], ("range", "V26")),
        ):
            yield _draft(row, "out of range", label, _change(row, good, offsets=array("int64", offsets)), *rules)
        descending = _change(row, good, offsets=array("int64", [0, 3, 1]))
        yield _draft(row, "shape", "offsets that descend", descending, "V26")
        later = _change(row, good, offsets=array("int64", [1, 3]))
        yield _draft(row, "bags", "members before the first offset", later, "V26")
        bad_head = _change(row, later, indices=array("int64", [9, 0, 1, 2]))
        yield _draft(row, "out of range", "an index before the first offset", bad_head, "V25", "V26")
    if "segment_ids" in row.inputs:
        for label, ids in (("segment m1", [-1, 0, 1, 1]), ("segment beyond the last", [0, 0, 1, 2])):
            call = _change(row, good, segment_ids=array("int64", ids))
            yield _draft(row, "out of range", label, call, "range", "V29")
        unsorted = _change(row, good, segment_ids=array("int64", [0, 1, 0, 1]))
        yield _draft(row, "shape", "segments in no order", unsorted, "V28")
        negative = _change(row, good, num_segments=array("int64", -1))
        yield _draft(row, "shape", "fewer than no segments", negative, "V29")
        one = _change(row, good, num_segments=array("int64", [3]))
        yield _draft(row, "bags", "num segments of one element", one, "V29")
    if "default_index" in row.inputs:
        for bad in (-2, 4):
            call = make_call(row, data, [0, 3, 1, 2], [0, 2, 2], default=bad)
            yield _draft(row, "out of range", f"default {bad}".replace("-", "m"), call, "range", "V27")


def _shapes(row: OracleRow, name: str) -> Iterator[CaseDraft]:
    first = row.inputs[0]
    data, good = ramp(name, (4, 2)), make_call(row, ramp(name, (4, 2)), [0, 3, 1, 2], [0, 2])
    for label, changed in (("rank 1", data[:, 0]), ("rank 3", data[:, :, None])):
        yield _draft(row, "slices", f"a table of {label}", _change(row, good, **{first: changed}))
    yield _draft(row, "scalar", "a table of rank 0", _change(row, good, **{first: data[0, 0].reshape(())}), "2.11")
    for each in row.inputs[1:]:
        value = dict(zip(row.inputs, good.inputs, strict=True))[each]
        if value is not None and value.ndim:
            yield _draft(row, "shape", f"{each} of another rank", _change(row, good, **{each: value[..., None]}))
    if "per_sample_weights" in row.inputs:
        short = _change(row, good, per_sample_weights=ramp(name, 3))
        yield _draft(row, "shape", "fewer weights", short)
    if "segment_ids" in row.inputs:
        yield _draft(row, "shape", "fewer segment ids", _change(row, good, segment_ids=array("int64", [0, 1])))
    if "reduction" in row.attributes:
        weighted = make_call(row, data, [0, 3, 1, 2], [0, 2], weights=ramp(name, 4), reduction="mean")
        yield _draft(row, "shape", "a mean with weights", weighted)
        unknown = make_call(row, data, [0, 3, 1, 2], [0, 2], reduction="max")
        yield _draft(row, "attribute", "reduction max", unknown, "attributes")
    if "fill_mode" in row.attributes:
        unknown = make_call(row, data, [0, 3, 1, 2], [0, 2], fill_mode="NAN")
        yield _draft(row, "attribute", "fill mode NAN", unknown, "attributes", "V30")
        missing = make_call(row, data, [0, 3, 1, 2], [0, 2])._replace(attributes={})
        yield _draft(row, "attribute", "no fill mode", missing, "attributes", "V30")


def _floats(row: OracleRow) -> Iterator[CaseDraft]:
    """Sums that show where they are rounded, and weights of zero."""
    for name in HALVES:
        stops = array(name, [[2048 if name == "float16" else 256], [1]])
        many = [0, *[1] * 9]
        yield _draft(row, "rounding", "ones beside a large number", make_call(row, stops, many, [0]), "V19")
        if "per_sample_weights" in row.inputs:
            thirds = make_call(row, stops, many, [0], weights=array(name, [1 / 3] * 10))
            yield _draft(row, "rounding", "products of thirds", thirds, "V19", "V31")
    for name in ("float32", "float64"):
        big = 1e8 if name == "float32" else 1e17
        zeros = array(name, [[-0.0], [0.0]])
        yield _draft(row, "zero sign", "bags of zeros", make_call(row, zeros, [0, 0, 0, 0, 1, 1], [0, 1, 3]), "O27")
        order = make_call(row, array(name, [[big], [1], [-big]]), [0, 1, 2, 1], [0])
        yield _draft(row, "rounding", "sums in order", order, "2.10")
    if "per_sample_weights" in row.inputs:
        hidden = array("float32", [[np.nan, np.inf], [1, 2]])
        call = make_call(row, hidden, [0, 1], [0], weights=array("float32", [0, 1]))
        yield _draft(row, "nan", "NaN with the weight 0", call, "V31")


def _mixed_types(row: OracleRow) -> Iterator[CaseDraft]:
    data, good = ramp("float32", (4, 2)), make_call(row, ramp("float32", (4, 2)), [0, 3, 1, 2], [0, 2])
    for name in ("string", "complex64", "int4"):
        other = make_call(row, ramp(name, (4, 2)), [0, 3, 1, 2], [0, 2])
        yield _draft(row, "type", "element type", other, "types", "V18")
    for each in row.inputs[1:]:
        value = dict(zip(row.inputs, good.inputs, strict=True))[each]
        if value is not None:
            yield _draft(row, "type", f"{each} of int32", _change(row, good, **{each: value.astype(np.int32)}))
    for index in (*INTEGERS, "float32", "bool"):
        yield _draft(row, "index type", "indices", make_call(row, data, [0, 1, 1, 0], [0, 1], index), "types")
    if "per_sample_weights" in row.inputs:
        wide = make_call(row, data, [0, 3, 1, 2], [0, 2], weights=ramp("float64", 4))
        yield _draft(row, "type", "weights of float64", wide, "types")
