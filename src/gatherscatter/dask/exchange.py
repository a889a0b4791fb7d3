"""Move rows between many chunks: with one task for each pair, or in two steps if there are very many pairs.

In two steps, every sender sorts its rows by groups of receivers. A task for each group collects them, and a task for
each receiver takes its part. All rows are sent twice, but S senders and R receivers need about S sqrt(R) tasks instead
of S R. This is faster, because tasks dominate the time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from dask._task_spec import TaskRef

from gatherscatter.dask.tasks import UnfusedTask

COLLECTED = 1 << 27  # largest number of bytes that a group collects, if they are spread evenly
LARGE = 1 << 20  # sending this number of bytes once more takes as long as a task of Dask

Key = tuple[int, ...]
Sender = TypeVar("Sender", bound=Hashable)
Parcels = dict[Any, list[Any]]  # the rows for each receiver, in the order of the senders


def add_exchange_tasks(
    graph: dict[Any, Any],
    name: str,
    key: Key,
    meetings: Mapping[Sender, Sequence[int]],
    volume: int,
    send: Callable[[Sender, list[int]], tuple[Any, ...]],
) -> dict[int, list[TaskRef]]:
    """Add the tasks that send rows. Return the tasks that hold the parcels of each receiver.

    Parameters
    ----------
    graph : the graph to which the tasks are added
    name, key : parts of the keys of the tasks
    meetings : for each sender the numbers of its receivers, ascending
    volume : total number of bytes that are sent
    send : returns the function and arguments of the task that makes the `Parcels` of a sender for some receivers
    """
    pairs = sum(map(len, meetings.values()))
    receivers = sorted({number for numbers in meetings.values() for number in numbers})
    size = group_size(len(receivers), volume)
    groups = {number: n // size for n, number in enumerate(receivers)}
    met = {sender: _group_numbers(numbers, groups) for sender, numbers in meetings.items()}
    in_two_steps = sum(map(len, met.values())) + len(set(groups.values())) + len(receivers)
    arrived: dict[int, list[TaskRef]] = defaultdict(list)
    if not is_worth_two_steps(in_two_steps, pairs, volume):
        for n, (sender, numbers) in enumerate(meetings.items()):
            for number in numbers:
                arrived[number].append(_add(graph, (f"send-{name}", *key, n, number), *send(sender, [number])))
        return arrived
    collected: dict[int, list[TaskRef]] = defaultdict(list)
    for n, (sender, parts) in enumerate(met.items()):
        for group, numbers in parts.items():
            collected[group].append(_add(graph, (f"send-{name}", *key, n, group), *send(sender, numbers)))
    whole = {group: _add(graph, (f"collect-{name}", *key, group), collect, *refs) for group, refs in collected.items()}
    return {
        number: [_add(graph, (f"receive-{name}", *key, number), receive, whole[groups[number]], number)]
        for number in receivers
    }


def group_size(receivers: int, volume: int) -> int:
    """Return the number of receivers in a group: the square root of their number, or fewer if many bytes are sent."""
    root = math.isqrt(max(receivers - 1, 0)) + 1
    return max(1, min(root, receivers * COLLECTED // max(volume, 1)))


def is_worth_two_steps(tasks: int, pairs: int, volume: int) -> bool:
    """Whether two steps need far fewer tasks than pairs, and few bytes are sent twice."""
    return 2 * tasks <= pairs and volume <= LARGE * pairs


def _add(graph: dict[Any, Any], key: Any, function: Callable[..., Any], *arguments: Any) -> TaskRef:
    graph[key] = UnfusedTask(key, function, *arguments)
    return TaskRef(key)


def _group_numbers(numbers: Sequence[int], groups: Mapping[int, int]) -> dict[int, list[int]]:
    parts: dict[int, list[int]] = defaultdict(list)
    for number in numbers:
        parts[groups[number]].append(number)
    return parts


def collect(*sent: Parcels) -> Parcels:
    """Merge the parcels for a group of receivers."""
    whole: Parcels = defaultdict(list)
    for parcels in sent:
        for number, pieces in parcels.items():
            whole[number] += pieces
    return dict(whole)


def receive(whole: Parcels, number: int) -> Parcels:
    """Return the parcels for one receiver."""
    return {number: whole.get(number, [])}
