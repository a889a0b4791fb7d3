"""What a scatter costs on a cluster, before there is one: tasks, bytes between workers, and which of them limits it.

A model: indices name places at random, chunks are spread over the workers evenly, and scheduling, sending and computing
overlap. Numbers of tasks are those of the graphs; seconds are no better than the facts about the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter.dask.exchange import group_size, is_worth_two_steps


@dataclass(frozen=True)
class Cluster:
    """What a cluster can do.

    Attributes
    ----------
    workers : how many there are
    task_seconds : of the scheduler for a task: 0.2 ms to 1 ms
    bandwidth : bytes a second that a worker sends and receives
    rate : bytes a second of data and updates that the kernels of a worker go through
    """

    workers: int = 1
    task_seconds: float = 5e-4
    bandwidth: float = 1e9
    rate: float = 2e9


@dataclass(frozen=True)
class Costs:
    """Of one call.

    Attributes
    ----------
    tasks : how many the call adds to those of its inputs; chunks that are only passed on count, too
    moved : bytes from one worker to another
    scheduling, network, kernels : seconds that each of them takes by itself
    """

    tasks: int
    moved: int
    scheduling: float
    network: float
    kernels: float

    @property
    def limit(self) -> str:
        """What takes longest: 'scheduling', 'network' or 'kernels'."""
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
    """The costs of a scatter into the chunks along the indexed axes.

    Parameters
    ----------
    chunks, chunk_bytes : of data, how many and how large each
    index_chunks : of the indices, which are those of the updates
    update_bytes : of all updates and their row numbers
    in_memory : whether indices and updates are: then they are one chunk and go with the tasks
    touched : which part of the chunks of data each chunk of indices names places in; what `plan='eager'` finds out

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
    """How many tasks `exchange.exchange` makes, and how often what is sent moves."""
    pairs = senders * receivers
    groups = -(-receivers // group_size(receivers, volume))
    tasks = senders * groups + groups + receivers
    return (tasks, 2) if is_worth_two_steps(tasks, pairs, volume) else (pairs, 1)
