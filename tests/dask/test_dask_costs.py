"""The cost model agrees with the actual graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

da: Any = pytest.importorskip("dask.array")
costs: Any = pytest.importorskip("gatherscatter.dask.costs")


@pytest.mark.parametrize("chunks", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("index_chunks", [1, 2, 30])
def test_tasks_are_those_of_the_graph(chunks: int, index_chunks: int) -> None:
    data = da.zeros(chunks * 2, chunks=2, dtype=np.float32)
    indices = da.zeros((index_chunks, 1), chunks=1, dtype=np.int64)
    updates = da.zeros(index_chunks, chunks=1, dtype=np.float32)
    made = gs.scatter_nd(data, indices, updates, reduction="add")
    if made.npartitions == 1 == index_chunks:  # a call in memory
        return
    added = len(made.dask) - chunks - 2 * index_chunks
    assert costs.scatter_costs(chunks, 8, index_chunks, 4 * index_chunks).tasks == added


@pytest.mark.parametrize("chunks", [2, 100])
def test_tasks_of_indices_in_memory(chunks: int) -> None:
    data = da.zeros(chunks * 2, chunks=2)
    made = gs.scatter_nd(data, np.arange(chunks)[:, np.newaxis] * 2, np.ones(chunks))
    assert costs.scatter_costs(chunks, 16, 1, 8 * chunks, in_memory=True).tasks == len(made.dask) - chunks


def test_bytes_between_two_workers() -> None:
    """The bytes that a real cluster moved agree with the model, within the effects of chance and the protocol."""
    distributed = pytest.importorskip("distributed")
    count, chunks, index_chunks = 400_000, 20, 4
    places = np.random.default_rng(0).integers(0, count, (count, 1))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        data = da.zeros(count, chunks=count // chunks)
        indices = da.from_array(places, chunks=(count // index_chunks, 1))
        updates = da.ones(count, chunks=count // index_chunks)
        inputs = client.persist([data, indices, updates])
        distributed.wait(inputs)
        before = _received(client)
        distributed.wait(client.persist(gs.scatter_nd(*inputs, reduction="add")))
        moved = _received(client) - before
    expected = costs.scatter_costs(
        chunks, 8 * count // chunks, index_chunks, (8 + 2) * count, cluster=costs.Cluster(workers=2)
    ).moved
    assert expected / 4 < moved < expected * 4


def _received(client: Any) -> int:
    return sum(
        client.run(lambda dask_worker: sum(each["total"] for each in dask_worker.transfer_incoming_log)).values()
    )


def test_the_limit() -> None:
    cluster = costs.Cluster(workers=10, task_seconds=1e-3, bandwidth=1e8, rate=1e9)
    assert costs.scatter_costs(10_000, 1, 1, 1, in_memory=True, cluster=cluster).limit == "scheduling"
    assert costs.scatter_costs(10, 1, 1, 10**12, cluster=cluster).limit == "network"
    assert costs.scatter_costs(10, 10**12, 1, 1, cluster=cluster).limit == "kernels"
