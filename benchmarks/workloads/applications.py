"""Workloads of machine learning: embeddings, graph networks, caches, mixtures of experts, voxels, beam search."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.workload import Workload


def _embeddings() -> Iterator[Workload]:
    group = "embeddings"
    yield Workload(
        "embeddings/batch", group, "1000 rows of 128 from 4M", "gather", (4_000_000, 128), (1000,), "permutation"
    )
    yield Workload("embeddings/large", group, "100k rows of 128 from 4M", "gather", (4_000_000, 128), (100_000,))
    for dtype in ("float32", "float16"):
        yield Workload(
            f"embeddings/zipf-{dtype}",
            group,
            f"524k rows of 128 from 1M, Zipf 1.05, {dtype}",
            "gather",
            (1_000_000, 128),
            (16_384, 32),
            "zipf",
            1.05,
            dtype=dtype,
            index_dtype="int32",
        )
    yield Workload(
        "embeddings/gradient",
        group,
        "gradient: add 524k rows of 128 into 1M, Zipf",
        "scatter_update",
        (1_000_000, 128),
        (524_288,),
        "zipf",
        1.05,
        reduction="add",
    )
    yield Workload(
        "embeddings/gradient-in-place",
        group,
        "gradient: add 524k rows of 128 into 1M, Zipf, in place",
        "scatter_update",
        (1_000_000, 128),
        (524_288,),
        "zipf",
        1.05,
        reduction="add",
        out=True,
    )
    yield Workload(
        "embeddings/log-probability",
        group,
        "pick 8192 of (8, 256, 32000) logits",
        "gather_elements",
        (8, 256, 32_000),
        (8, 256, 1),
        axis=2,
    )


def _graphs() -> Iterator[Workload]:
    group = "graphs"
    for layout in ("expanded", "repeated"):
        yield Workload(
            f"graphs/reddit-{layout}",
            group,
            f"Reddit batch: add 477kx256 into 135k, {layout} index",
            "scatter_elements",
            (135_361, 256),
            (477_263, 256),
            "zipf",
            1.2,
            reduction="add",
            layout=layout,
        )
    for how in ("add", "mean", "max"):
        row = Workload(
            f"graphs/micro-{how}",
            group,
            f"{how} 50kx64 into 1000",
            "scatter_update",
            (1000, 64),
            (50_000,),
            reduction=how,
        )
        yield row
    for nodes, edges in ((10, 1000), (1000, 10_000), (10_000, 100_000)):
        yield Workload(
            f"graphs/gather-{nodes}", group, f"{edges} edges of {nodes} nodes x64", "gather", (nodes, 64), (edges,)
        )
        yield Workload(
            f"graphs/add-{nodes}",
            group,
            f"add {edges} edges to {nodes} nodes x64",
            "scatter_update",
            (nodes, 64),
            (edges,),
            reduction="add",
        )
    yield Workload(
        "graphs/arxiv-gather",
        group,
        "ogbn-arxiv: gather 1.17Mx128",
        "gather",
        (169_343, 128),
        (1_166_243,),
        "zipf",
        1.6,
    )
    for how in ("mean", "max"):
        yield Workload(
            f"graphs/arxiv-{how}",
            group,
            f"ogbn-arxiv: {how} 1.17Mx128 into 169k",
            "scatter_update",
            (169_343, 128),
            (1_166_243,),
            "zipf",
            1.6,
            reduction=how,
        )
    yield Workload(
        "graphs/pagerank",
        group,
        "PageRank: add 16M into 4M",
        "scatter_update",
        (1 << 22,),
        (1 << 24,),
        reduction="add",
        out=True,
    )
    yield Workload(
        "graphs/pagerank-skew",
        group,
        "PageRank: add 16M into 4M, Zipf",
        "scatter_update",
        (1 << 22,),
        (1 << 24,),
        "zipf",
        1.1,
        reduction="add",
        out=True,
    )


def _caches() -> Iterator[Workload]:
    cache = (8, 8, 4096, 128)
    for dtype in ("float32", "float16"):
        yield Workload(
            f"caches/decode-in-place-{dtype}",
            "caches",
            f"one token into (8, 8, 4096, 128), in place, {dtype}",
            "tensor_scatter",
            cache,
            (8,),
            dtype=dtype,
            out=True,
        )
    yield Workload(
        "caches/decode-copy", "caches", "one token into (8, 8, 4096, 128), copy", "tensor_scatter", cache, (8,)
    )
    yield Workload(
        "caches/prefill",
        "caches",
        "512 tokens into (8, 8, 4096, 128), in place",
        "tensor_scatter",
        cache,
        (8,),
        window=512,
        out=True,
    )
    yield Workload(
        "caches/paged",
        "caches",
        "256 slots of 16384 (8, 128), in place",
        "scatter_update",
        (16_384, 8, 128),
        (256,),
        "permutation",
        dtype="float16",
        out=True,
    )


def _experts() -> Iterator[Workload]:
    for name, tokens, experts, width in (("small", 64, 4, 2816), ("large", 4096, 8, 2048)):
        text = f"{tokens} tokens x{width}, {experts} experts"
        yield Workload(
            f"experts/dispatch-{name}",
            "experts",
            f"dispatch: {text}",
            "gather",
            (tokens, width),
            (tokens * experts,),
            dtype="float16",
        )
        yield Workload(
            f"experts/combine-{name}",
            "experts",
            f"combine: {text}",
            "scatter_update",
            (tokens, width),
            (tokens * experts,),
            reduction="add",
        )


def _voxels() -> Iterator[Workload]:
    group = "voxels"
    for layout in ("expanded", "repeated"):
        yield Workload(
            f"voxels/bev-{layout}",
            group,
            f"BEV pooling: add 481kx80 into 556k, {layout} index",
            "scatter_elements",
            (556_416, 80),
            (481_385, 80),
            reduction="add",
            layout=layout,
        )
    yield Workload(
        "voxels/pillars-last",
        group,
        "12k pillars x64 into 512², channel last",
        "scatter_nd",
        (512, 512, 64),
        (12_000, 2),
        "permutation",
    )
    yield Workload(
        "voxels/pillars-first",
        group,
        "12k pillars x64 into 512², channel first",
        "scatter_update",
        (64, 512 * 512),
        (12_000,),
        "permutation",
        axis=1,
    )
    yield Workload(
        "voxels/mean",
        group,
        "voxel mean: 120k lidar points x4 into 200k",
        "scatter_update",
        (200_000, 4),
        (120_000,),
        "clustered",
        reduction="mean",
    )
    yield Workload(
        "voxels/hough",
        group,
        "Hough: add 1M quadruples into 64x180x160",
        "scatter_nd",
        (1, 64, 180, 160),
        (1_000_000, 4),
        reduction="add",
    )
    yield Workload(
        "voxels/detection-tail",
        group,
        "gather_nd 100 of (1, 8400, 85), batch",
        "gather_nd",
        (1, 8400, 85),
        (1, 100, 1),
        batch_dims=1,
    )
    yield Workload(
        "beams/tree",
        "beams",
        "gather_tree 128 steps, 32 batches, 8 beams",
        "gather_tree",
        (128, 32, 8),
        (128, 32, 8),
        dtype="int32",
        index_dtype="int32",
    )


ROWS: tuple[Workload, ...] = (*_embeddings(), *_graphs(), *_caches(), *_experts(), *_voxels())
