"""How rows get from many chunks to many: by a task for each pair, or in two steps where there are very many pairs.

In two steps every sender sorts what it has by groups of receivers, a task for each group collects that, and one for
each receiver takes its own out. What is sent moves twice then, but S senders and R receivers have tasks in the order of
S sqrt(R) instead of S R, and it is tasks that cost time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from dask._task_spec import Task, TaskRef

COLLECTED = 1 << 27  # bytes that a group collects at most, if they come evenly
LARGE = 1 << 20  # bytes that take as long to be sent once more as a task of Dask takes

Place = tuple[int, ...]
Sender = TypeVar("Sender", bound=Hashable)
Parcels = dict[Any, list[Any]]  # for each receiver what it gets, in the order of the senders


def add_exchange_tasks(
    graph: dict[Any, Any],
    name: str,
    place: Place,
    meetings: Mapping[Sender, Sequence[int]],
    volume: int,
    send: Callable[[Sender, list[int]], tuple[Any, ...]],
) -> dict[int, list[TaskRef]]:
    """Add the tasks that send, and return for each receiver those that have its parcels.

    Parameters
    ----------
    graph : where tasks are added
    name, place : what is in the keys of the tasks
    meetings : for each sender the numbers of its receivers, ascending
    volume : how many bytes are sent, all together
    send : the function and the arguments of a task that makes the `Parcels` of a sender for some receivers
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
                arrived[number].append(_add(graph, (f"send-{name}", *place, n, number), *send(sender, [number])))
        return arrived
    collected: dict[int, list[TaskRef]] = defaultdict(list)
    for n, (sender, parts) in enumerate(met.items()):
        for group, numbers in parts.items():
            collected[group].append(_add(graph, (f"send-{name}", *place, n, group), *send(sender, numbers)))
    whole = {
        group: _add(graph, (f"collect-{name}", *place, group), collect, *refs) for group, refs in collected.items()
    }
    return {
        number: [_add(graph, (f"receive-{name}", *place, number), receive, whole[groups[number]], number)]
        for number in receivers
    }


def group_size(receivers: int, volume: int) -> int:
    """How many receivers make a group: the root of their number, or fewer where much is sent."""
    root = math.isqrt(max(receivers - 1, 0)) + 1
    return max(1, min(root, receivers * COLLECTED // max(volume, 1)))


def is_worth_two_steps(tasks: int, pairs: int, volume: int) -> bool:
    """Whether so many tasks are enough fewer than pairs, and what moves twice is little."""
    return 2 * tasks <= pairs and volume <= LARGE * pairs


def _add(graph: dict[Any, Any], key: Any, function: Callable[..., Any], *arguments: Any) -> TaskRef:
    graph[key] = Task(key, function, *arguments)
    return TaskRef(key)


def _group_numbers(numbers: Sequence[int], groups: Mapping[int, int]) -> dict[int, list[int]]:
    parts: dict[int, list[int]] = defaultdict(list)
    for number in numbers:
        parts[groups[number]].append(number)
    return parts


def collect(*sent: Parcels) -> Parcels:
    """All parcels for a group of receivers."""
    whole: Parcels = defaultdict(list)
    for parcels in sent:
        for number, pieces in parcels.items():
            whole[number] += pieces
    return dict(whole)


def receive(whole: Parcels, number: int) -> Parcels:
    """Those for one receiver."""
    return {number: whole.get(number, [])}
