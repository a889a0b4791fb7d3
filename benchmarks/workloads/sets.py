"""The workloads that run without --all, as ids after the name of the group, or patterns of them."""

from __future__ import annotations

QUICK: dict[str, str] = {
    "main": "rows random elements-0 elements-1 pairs triples set-rows add-1k add-1M add-rows add-elements-1",
    "types": "take-uint8 add-bfloat16",
    "axes": "gather-last batch-gather",
    "reductions": "max",
    "sizes": "take-65536 add-65536 take-4194304 add-4194304",
    "spatter": "gather-amg",
    "caches": "decode-in-place-float32",
    "beams": "tree",
    "histograms": "100-constant",
    "small-calls": "bags",
    "tiny": "take gather-nd scatter-nd",
}

# The most different rows of each group: one for each kernel, type, order of indices and size of memory, and the rows in
# which peers have been ahead.
DEFAULT: dict[str, str] = {
    "main": "rows random elements-0 elements-1 elements-1-out pairs triples set-rows set-rows-in-place add-1k add-1M "
    "add-16M add-rows add-rows-in-place add-elements-1",
    "types": "take-uint8 take-float64 rows-float16 set-float32 index-uint8 index-int32 add-float64 add-int64 "
    "add-bfloat16 add-rows-float16",
    "indices": "take-sorted take-zipf take-negatives rows-zipf rows-constant add-sorted add-clustered add-zipf "
    "add-rows-permutation",
    "axes": "gather-middle gather-last elements-last set-elements-last add-last batch-gather batch-scalars batch-rows",
    "reductions": "max mean rows-mean elements-max",
    "layouts": "few-rows-transposed elements-strided expanded repeated",
    "slots": "add-64 add-4096 rows-width-1024",
    "sizes": "take-512 take-16384 take-65536 take-4194304 take-268435456 rows-4096 add-65536 add-4194304 "
    "add-rows-65536",
    "spatter": "gather-uniform-1 gather-uniform-16 set-uniform-4 add-lulesh-1 gather-amg gather-pennant-pairs",
    "embeddings": "batch zipf-float32 gradient-in-place log-probability",
    "bags": "length-1-cached length-500 width-512 max-cached float16-cached weighted-packed",
    "quantized": "tokens-16 tokens-4096 bags-8",
    "statistics": "std-1000 nanmean-100000",
    "graphs-fused": "cached arxiv arxiv-weighted-prepared",
    "graphs": "micro-add micro-mean gather-1000 add-10000 arxiv-gather arxiv-mean",
    "caches": "decode-in-place-float32 decode-copy prefill paged",
    "experts": "dispatch-small combine-large",
    "voxels": "pillars-first mean hough detection-tail",
    "beams": "tree",
    "histograms": "500-uniform 100-constant 300000-zipf 10000000-sorted counts cells",
    "arrays": "points topk zones reorder-1 runs",
    "physics": "assembly deposition-uniform",
    "small-calls": "gather bags",
    "layouts-and-types": "updates-float32",
    "tiny": "take take-out gather-nd gather-elements scatter-nd scatter-add",
    "sessions": "silero",
}


def expand_patterns(chosen: dict[str, str]) -> list[str]:
    """Return the patterns of ids of a set.

    >>> expand_patterns({"tiny": "take scatter-*"})
    ['tiny/take', 'tiny/scatter-*']
    """
    return [f"{group}/{name}" for group, names in chosen.items() for name in names.split()]
