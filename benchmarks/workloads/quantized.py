"""Rows of block-quantized tables: the embeddings of a language model, and bags of a recommender's tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.workload import Workload, sum_rows

_VOCABULARY, _FEATURES = 32_000, 1024  # 33 million numbers: beyond the cache even with 4 bits each
_CACHED = 1000


def _tokens() -> Iterator[Workload]:
    for count in (1, 16, 256, 4096):
        yield _gather(f"tokens-{count}", count)
    yield _gather("tokens-4096-cached", 4096, rows=_CACHED)
    yield _gather("tokens-4096-zipf", 4096, distribution="zipf", parameter=1.05)
    yield _gather("blocks-of-128", 4096, block_size=128)
    yield _gather("float16", 4096, dtype="float16")
    for bits in (2, 8):
        yield _gather(f"bits-{bits}", 4096, bits=bits)


def _gather(name: str, count: int, rows: int = _VOCABULARY, **others: Any) -> Workload:
    others = {"bits": 4, "block_size": 32} | others
    notes = [f"{others['bits']} bits", f"blocks of {others['block_size']}"]
    notes += [others[key] for key in ("dtype", "distribution") if key in others]
    text = f"{count} of {rows} rows of {_FEATURES} ({', '.join(notes)})"
    return Workload(f"quantized/{name}", text, (rows, _FEATURES), (count,), **others)


def _bags() -> Iterator[Workload]:
    for bits in (4, 8):
        for name, rows in (("", 1_000_000), ("-cached", 4000)):
            yield _bag(f"bags-{bits}{name}", rows, bits, 64)
    yield _bag("bags-weighted", 1_000_000, 8, 64, weighted=True)
    yield _bag("bags-blocks-of-32", 1_000_000, 4, 32)


def _bag(name: str, rows: int, bits: int, block_size: int, **others: Any) -> Workload:
    scales = "a scale for each row" if block_size == 64 else f"blocks of {block_size}"
    text = f"{'weighted ' if others else ''}sum 20k bags by offsets, rows of 64 from {rows} ({bits} bits, {scales})"
    others |= {"grouping": "offsets", "bags": 20_000, "bits": bits, "block_size": block_size}
    return sum_rows(f"quantized/{name}", text, (rows, 64), (400_000,), **others)


ROWS: tuple[Workload, ...] = (*_tokens(), *_bags())
