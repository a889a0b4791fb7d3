"""Tasks that have the same key and the same meaning in every graph.

Dask fuses two neighbouring tasks if no other task of the graph needs the first one. The fused task keeps the key of the
second one. So the same key means different tasks in a graph that needs the first task twice. The distributed scheduler
identifies tasks by their keys only: it warns of different tasks for one key, and may then fail or hang. The tasks of
this package are never fused.
"""

from __future__ import annotations

from typing import Any

from dask._task_spec import Alias, GraphNode, Task, TaskRef, convert_legacy_graph
from dask.array import Array
from dask.base import tokenize
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph

from gatherscatter.functions.chunked import Chunks


class UnfusedTask(Task):
    """A task that Dask does not fuse with others."""

    __slots__ = ()

    @property
    def block_fusion(self) -> bool:
        return True


def prevent_fusion(made: Array, source: Array) -> Array:
    """Return an array that functions of Dask made from ``source``, with tasks that are not fused.

    Their keys are new, because the caller can make the same array with tasks that Dask fuses. They depend on all steps:
    Dask's configuration can change the first steps and not the name of the last one.
    """
    layers = {name: layer for name, layer in made.dask.layers.items() if name not in source.dask.layers}
    if not layers:
        return made
    token = tokenize(*sorted(layers))
    tasks = {key: task for layer in layers.values() for key, task in layer.items()}
    tasks = convert_legacy_graph(tasks, {*tasks, *flatten(source.__dask_keys__())})  # type: ignore[no-untyped-call]
    names = {key: (_rename(key[0], token), *key[1:]) for key in tasks}
    graph = {names[key]: _copy_unfused(task, names) for key, task in tasks.items()}
    return make_array(_rename(made.name, token), graph, made.chunks, made, [source])


def _rename(name: str, token: str) -> str:
    return f"unfused-{name}-{token}"


def _copy_unfused(task: GraphNode, names: dict[Any, Any]) -> UnfusedTask:
    """Copy a task with new keys."""
    key = names[task.key]
    if isinstance(task, Alias):
        return UnfusedTask(key, pass_on, TaskRef(names.get(task.target, task.target)))
    copy: Any = task.substitute({old: names[old] for old in task.dependencies if old in names}, key)
    return UnfusedTask(key, copy.func, *copy.args, **copy.kwargs)


def pass_on(chunk: Any) -> Any:
    """Return a chunk unchanged. This is instead of Dask's `Alias`, which can be fused."""
    return chunk


def make_array(name: str, graph: dict[Any, Any], chunks: Chunks, like: Array, sources: list[Array]) -> Array:
    """Return the Dask array of a graph that depends on ``sources``, with the type of ``like``."""
    whole = HighLevelGraph.from_collections(name, graph, dependencies=sources)  # type: ignore[arg-type]
    shape = tuple(map(sum, chunks))
    return Array(whole, name, chunks, meta=like._meta, dtype=like.dtype, shape=shape)  # type: ignore[no-untyped-call]
