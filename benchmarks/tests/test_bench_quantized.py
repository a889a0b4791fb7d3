"""The workloads with quantized tables: their numbers, the ways of their contenders, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bound import traffic
from benchmarks.case import build
from benchmarks.contenders import make_contenders
from benchmarks.contenders.contender import find_calls
from benchmarks.reference import Reference
from benchmarks.workload import Workload
from benchmarks.workloads import select
from gatherscatter import oracle
from tests.support.processes import in_another_process

ROWS = [row.at_most(12) for row in select(["quantized"])]
# For each peer, the ways that are right on at least one row. All other libraries take no part.
WAYS = {
    "numpy": {"take, dequantize"},
    "torch": {"embedding_bag_4bit_rowwise_offsets", "embedding_bag_byte_rowwise_offsets"},
    "onnxruntime": {"run"},
    "two-steps": {"gather_quantized, scatter_update"},
    "openvino": set(),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_numbers_of_a_table_are_those_of_the_oracle(row: Workload) -> None:
    table = build(replace(row, block_size=5)).table
    assert table is not None
    codes, scales, zeros, block, bits = table
    expected = oracle.gather_quantized(
        codes, np.array([7, 0]), scales, zeros, 0, 1, block_size=block, bits=bits, rule=oracle.IndexRule("raise")
    )
    oracle.assert_same(table.dequantize()[[7, 0]], expected, expected)


def check_ways(peer: str) -> None:
    """Check all ways of a peer on small rows. This runs in a separate process."""
    contender = make_contenders([peer], 2)[-1]
    right = set()
    for row in ROWS:
        case = build(replace(row, data=(row.data[0], 64), block_size=min(row.block_size, 64)))
        contender.prepare()
        for way, call in find_calls(contender, case).items():
            assert Reference(case).accepts(call.result(call.run())), (row.id, way)
            right.add(way)
    assert right == WAYS[peer]


@pytest.mark.full
@pytest.mark.parametrize("peer", WAYS)
def test_every_way_of_a_peer_is_right(peer: str) -> None:
    if peer != "two-steps":
        pytest.importorskip(peer)
    in_another_process(f"check_ways({peer!r})", "benchmarks.tests.test_bench_quantized")


def test_the_limit_reads_codes_and_scales() -> None:
    (row,) = select(["quantized/tokens-256"])
    numbers = 256 * 1024
    assert traffic(row) == 256 * 8 + numbers // 2 + numbers // 32 * 4 + numbers * 4
    (bags,) = select(["quantized/bags-8"])
    assert traffic(bags) == 400_000 * 8 + 20_000 * 8 + 400_000 * (64 + 4) + 20_000 * 64 * 4
