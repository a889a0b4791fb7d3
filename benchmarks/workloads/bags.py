"""Rows that are gathered and reduced: bags of embeddings, and the messages that nodes of a graph send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.workload import Workload, sum_rows

_CACHED, _LARGE = 4000, 1_000_000  # rows of 64 elements that fit in the cache, and rows that do not
_ARXIV, _SMALL_GRAPH = (169_343, 1_166_243, 128), (10_000, 100_000, 64)  # nodes, edges, features
_NAMES = {"add": "sum"}


def _bags() -> Iterator[Workload]:
    for length in (1, 10, 100, 500):
        yield _packed(f"length-{length}", _LARGE, 64, 400_000 // length, length)
        yield _packed(f"length-{length}-cached", _CACHED, 64, 400_000 // length, length)
    yield _packed("length-32-zipf", _LARGE, 64, 16_384, 32, distribution="zipf", parameter=1.05, index_dtype="int32")
    for width in (1, 2, 8, 32, 128, 512):
        members = min(25_600_000 // width, 2_000_000)
        yield _by_offsets(f"width-{width}", 64_000_000 // width, width, members)
        yield _by_offsets(f"width-{width}-cached", 256_000 // width, width, members)
    for reduction in ("mean", "max"):
        yield _by_offsets(reduction, _LARGE, 64, 400_000, reduction=reduction)
        yield _by_offsets(f"{reduction}-cached", _CACHED, 64, 400_000, reduction=reduction)
    yield _by_offsets("zipf", _LARGE, 64, 400_000, distribution="zipf", parameter=1.05)
    for name, rows in (("weighted", _LARGE), ("weighted-cached", _CACHED)):
        yield _by_offsets(name, rows, 64, 400_000, weighted=True)
        yield _packed(f"{name}-packed", rows, 64, 20_000, 20, weighted=True)
    for dtype in ("float16", "bfloat16"):
        yield _by_offsets(dtype, _LARGE, 64, 200_000, dtype=dtype)
        yield _by_offsets(f"{dtype}-cached", _CACHED, 64, 200_000, dtype=dtype)
        yield _by_offsets(f"{dtype}-mean", _LARGE, 64, 200_000, dtype=dtype, reduction="mean")
        yield _packed(f"{dtype}-weighted", _LARGE, 64, 10_000, 20, dtype=dtype, weighted=True)


def _packed(name: str, rows: int, width: int, bags: int, length: int, **others: Any) -> Workload:
    return _bag(
        name, f"{_short(bags)} bags of {length}", rows, width, (bags, length), grouping="packed", bags=bags, **others
    )


def _by_offsets(name: str, rows: int, width: int, members: int, **others: Any) -> Workload:
    bags = members // 20
    return _bag(
        name, f"{_short(bags)} bags by offsets", rows, width, (members,), grouping="offsets", bags=bags, **others
    )


def _bag(name: str, text: str, rows: int, width: int, indices: tuple[int, ...], **others: Any) -> Workload:
    others = {"reduction": "add"} | others
    text = f"{_describe(others)} {text}, rows of {width} from {_short(rows)}"
    return sum_rows(f"bags/{name}", text, (rows, width), indices, **others)


def _graphs() -> Iterator[Workload]:
    skewed = {"distribution": "zipf", "parameter": 1.6}  # as in the group "graphs"
    for prepared in (False, True):
        graphs: tuple[tuple[str, tuple[int, int, int], dict[str, Any]], ...] = (
            ("cached", _SMALL_GRAPH, {}),
            ("arxiv", _ARXIV, skewed),
            ("arxiv-weighted", _ARXIV, skewed | {"weighted": True}),
            ("arxiv-mean", _ARXIV, skewed | {"reduction": "mean"}),
            ("arxiv-max", _ARXIV, skewed | {"reduction": "max"}),
            ("arxiv-uniform", _ARXIV, {}),
            ("arxiv-mild", _ARXIV, {"distribution": "zipf", "parameter": 0.7}),  # the hub has 1 % of the edges
            ("arxiv-star", _ARXIV, {"distribution": "zipf", "parameter": 2.5}),  # the hub has 65 % of the edges
        )
        for name, size, others in graphs:
            yield _graph(f"{name}-prepared" if prepared else name, *size, prepared=prepared, **others)


def _graph(name: str, nodes: int, edges: int, features: int, **others: Any) -> Workload:
    others = {"reduction": "add"} | others
    text = f"{_describe(others)} over {_short(edges)} edges of {_short(nodes)} nodes x{features}"
    others |= {"grouping": "segments", "bags": nodes}
    return sum_rows(f"graphs-fused/{name}", text, (nodes, features), (edges,), **others)


def _describe(others: dict[str, Any]) -> str:
    """Return the reduction, with notes about its members."""
    notes = [others[key] for key in ("dtype",) if key in others]
    notes += [f"Zipf {others['parameter']}"] if others.get("distribution") == "zipf" else []
    notes += [key for key in ("weighted", "prepared") if others.get(key)]
    name = _NAMES.get(others["reduction"], others["reduction"])
    return f"{name} ({', '.join(notes)})" if notes else name


def _short(count: int) -> str:
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


ROWS: tuple[Workload, ...] = (*_bags(), *_graphs())
