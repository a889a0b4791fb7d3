"""Estimate the costs of a scatter on a cluster: tasks, bytes between workers, and which of them limits the call.

The model assumes that indices name places at random, that chunks are spread evenly over the workers, and that
scheduling, sending and computing overlap. Numbers of tasks are those of the graphs. Seconds are only as good as the
facts about the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.dask.exchange import group_size, is_worth_two_steps


@dataclass(frozen=True)
class Cluster:
    """The capacity of a cluster.

    Attributes
    ----------
    workers : number of workers
    task_seconds : time of the scheduler for a task, typically 0.2 ms to 1 ms
    bandwidth : bytes per second that a worker sends and receives
    rate : bytes per second of data and updates that the kernels of a worker process
    """

    workers: int = 1
    task_seconds: float = 5e-4
    bandwidth: float = 1e9
    rate: float = 2e9


@dataclass(frozen=True)
class Costs:
    """The costs of one call.

    Attributes
    ----------
    tasks : number of tasks that the call adds to those of its inputs, including one for each untouched chunk
    moved : bytes sent from one worker to another
    scheduling, network, kernels : seconds that each of them takes
    """

    tasks: int
    moved: int
    scheduling: float
    network: float
    kernels: float

    @property
    def limit(self) -> str:
        """The largest cost: 'scheduling', 'network' or 'kernels'."""
        return max(("scheduling", "network", "kernels"), key=lambda name: float(getattr(self, name)))


def scatter_costs(
    chunks: int,
    chunk_bytes: int,
    index_chunks: int,
    update_bytes: int,
    *,
    in_memory: bool = False,
    touched: float = 1.0,
    cluster: Cluster | None = None,
) -> Costs:
    """Return the costs of a scatter into the chunks along the indexed axes.

    Parameters
    ----------
    chunks, chunk_bytes : number of chunks of data, and bytes of each
    index_chunks : number of chunks of the indices, and of the updates
    update_bytes : bytes of all updates and their row numbers
    in_memory : whether indices and updates are in memory; then they are one chunk and are sent with the tasks
    touched : share of the chunks of data in which a chunk of indices names places; `plan='eager'` computes it
    cluster : capacity of the cluster; by default one worker

    >>> from gatherscatter.dask.costs import Cluster, scatter_costs
    >>> costs = scatter_costs(10_000, 100_000_000, 100, 50_000_000_000, cluster=Cluster(workers=100))
    >>> costs.tasks, costs.limit
    (58985, 'scheduling')
    """
    cluster = cluster or Cluster()
    met = round(chunks * touched)
    if in_memory:
        tasks, hops = chunks, 1
    else:
        tasks, hops = _exchange(index_chunks, met, update_bytes)
        tasks += index_chunks + chunks
    moved = round(hops * update_bytes * (1 - 1 / cluster.workers))
    worked = chunk_bytes * met + (1 + hops) * update_bytes
    return Costs(
        tasks=tasks,
        moved=moved,
        scheduling=tasks * cluster.task_seconds,
        network=moved / cluster.bandwidth / cluster.workers,
        kernels=worked / cluster.rate / cluster.workers,
    )


def _exchange(senders: int, receivers: int, volume: int) -> tuple[int, int]:
    """Return the number of tasks of `exchange.add_exchange_tasks`, and how often each byte is sent."""
    pairs = senders * receivers
    groups = -(-receivers // group_size(receivers, volume))
    tasks = senders * groups + groups + receivers
    return (tasks, 2) if is_worth_two_steps(tasks, pairs, volume) else (pairs, 1)
