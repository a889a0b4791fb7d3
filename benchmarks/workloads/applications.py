"""Workloads of machine learning: embeddings, graph networks, caches, mixtures of experts, voxels, beam search."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.workload import Workload, add, add_elements, add_tuples, elements, put, put_tuples, tuples

_TABLE = (1_000_000, 128)


def _embeddings() -> Iterator[Workload]:
    yield Workload("embeddings/batch", "1000 rows of 128 from 4M", (4_000_000, 128), (1000,), "permutation")
    yield Workload("embeddings/large", "100k rows of 128 from 4M", (4_000_000, 128), (100_000,))
    for dtype in ("float32", "float16"):
        text = f"524k rows of 128 from 1M, Zipf 1.05, {dtype}"
        by_zipf = partial(Workload, distribution="zipf", parameter=1.05, dtype=dtype, index_dtype="int32")
        yield by_zipf(f"embeddings/zipf-{dtype}", text, _TABLE, (16_384, 32))
    text = "gradient: add 524k rows of 128 into 1M, Zipf"
    yield add("embeddings/gradient", text, _TABLE, (524_288,), "zipf", 1.05)
    yield add("embeddings/gradient-in-place", f"{text}, in place", _TABLE, (524_288,), "zipf", 1.05, out=True)
    text, logits = "pick 8192 of (8, 256, 32000) logits", (8, 256, 32_000)
    yield elements("embeddings/log-probability", text, logits, (8, 256, 1), axis=2)


def _graphs() -> Iterator[Workload]:
    for layout in ("expanded", "repeated"):
        text, data = f"Reddit batch: add 477kx256 into 135k, {layout} index", (135_361, 256)
        yield add_elements(f"graphs/reddit-{layout}", text, data, (477_263, 256), "zipf", 1.2, layout=layout)
    for how in ("add", "mean", "max"):
        text = f"{how} 50kx64 into 1000"
        yield add(f"graphs/micro-{how}", text, (1000, 64), (50_000,), reduction=how)
    for nodes, edges in ((10, 1000), (1000, 10_000), (10_000, 100_000)):
        yield Workload(f"graphs/gather-{nodes}", f"{edges} edges of {nodes} nodes x64", (nodes, 64), (edges,))
        yield add(f"graphs/add-{nodes}", f"add {edges} edges to {nodes} nodes x64", (nodes, 64), (edges,))
    yield Workload("graphs/arxiv-gather", "ogbn-arxiv: gather 1.17Mx128", (169_343, 128), (1_166_243,), "zipf", 1.6)
    for how in ("mean", "max"):
        text = f"ogbn-arxiv: {how} 1.17Mx128 into 169k"
        yield add(f"graphs/arxiv-{how}", text, (169_343, 128), (1_166_243,), "zipf", 1.6, reduction=how)
    yield add("graphs/pagerank", "PageRank: add 16M into 4M", (1 << 22,), (1 << 24,), out=True)
    yield add("graphs/pagerank-skew", "PageRank: add 16M into 4M, Zipf", (1 << 22,), (1 << 24,), "zipf", 1.1, out=True)


def _caches() -> Iterator[Workload]:
    insert = partial(Workload, data=(8, 8, 4096, 128), indices=(8,), form="tensor_scatter")
    for dtype in ("float32", "float16"):
        text = f"one token into (8, 8, 4096, 128), in place, {dtype}"
        yield insert(f"caches/decode-in-place-{dtype}", text, dtype=dtype, out=True)
    yield insert("caches/decode-copy", "one token into (8, 8, 4096, 128), copy")
    yield insert("caches/prefill", "512 tokens into (8, 8, 4096, 128), in place", window=512, out=True)
    text, data = "256 slots of 16384 (8, 128), in place", (16_384, 8, 128)
    yield put("caches/paged", text, data, (256,), "permutation", dtype="float16", out=True)


def _experts() -> Iterator[Workload]:
    for name, tokens, experts, width in (("small", 64, 4, 2816), ("large", 4096, 8, 2048)):
        text, data, indices = f"{tokens} tokens x{width}, {experts} experts", (tokens, width), (tokens * experts,)
        yield Workload(f"experts/dispatch-{name}", f"dispatch: {text}", data, indices, dtype="float16")
        yield add(f"experts/combine-{name}", f"combine: {text}", data, indices)


def _voxels() -> Iterator[Workload]:
    for layout in ("expanded", "repeated"):
        text = f"BEV pooling: add 481kx80 into 556k, {layout} index"
        yield add_elements(f"voxels/bev-{layout}", text, (556_416, 80), (481_385, 80), layout=layout)
    text = "12k pillars x64 into 512², channel"
    yield put_tuples("voxels/pillars-last", f"{text} last", (512, 512, 64), (12_000, 2), "permutation")
    yield put("voxels/pillars-first", f"{text} first", (64, 512 * 512), (12_000,), "permutation", axis=1)
    text = "voxel mean: 120k lidar points x4 into 200k"
    yield add("voxels/mean", text, (200_000, 4), (120_000,), "clustered", reduction="mean")
    yield add_tuples("voxels/hough", "Hough: add 1M quadruples into 64x180x160", (1, 64, 180, 160), (1_000_000, 4))
    text = "gather_nd 100 of (1, 8400, 85), batch"
    yield tuples("voxels/detection-tail", text, (1, 8400, 85), (1, 100, 1), batch_dims=1)


def _beams() -> Iterator[Workload]:
    text, shape = "gather_tree 128 steps, 32 batches, 8 beams", (128, 32, 8)
    yield Workload("beams/tree", text, shape, shape, form="gather_tree", dtype="int32", index_dtype="int32")


ROWS: tuple[Workload, ...] = (*_embeddings(), *_graphs(), *_caches(), *_experts(), *_voxels(), *_beams())
