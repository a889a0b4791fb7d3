"""``gatherscatter apply --scheduler``: compute a call on a Dask cluster and write it to a new .zarr array."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatherscatter.cli.files import chunk_sizes, is_zarr, open_array
from gatherscatter.cli.group import Settings
from gatherscatter.messages.text import count_text
from gatherscatter.system.extras import require
from gatherscatter.system.files import replace_atomically
from gatherscatter.system.progress import ChunkProgress

if TYPE_CHECKING:
    import dask.array
    import numpy as np
    from distributed import Client

    from gatherscatter.specs.table import OpVersion


LOCAL = "local"  # the value of --scheduler that starts a scheduler on this machine
LEAST_MEMORY = 300_000_000  # bytes; Dask pauses or ends a worker with less before it starts
RESTART = "30s"  # Dask gives up if a worker that has ended is not back after this time


class StoredArray:
    """An array of Zarr that each worker opens when it needs a part. A worker without access to it raises."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        array = open_array(self._path, "r")
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.chunks = array.shards or array.chunks

    def __getitem__(self, where: Any) -> Any:
        return open_array(self._path, "r")[where]


class NpyFile:
    """A .npy file. Each worker reads the parts that it needs."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        mapped = self._mapped()
        self.shape, self.dtype, self.ndim = mapped.shape, mapped.dtype, mapped.ndim

    @staticmethod
    def can_map(path: Path) -> bool:
        """Return False for arrays of objects and for types unknown to NumPy."""
        import numpy as np

        try:
            return bool(np.load(path, mmap_mode="r", allow_pickle=False).dtype.kind != "V")
        except ValueError:
            return False

    def __getitem__(self, where: Any) -> np.ndarray:
        import numpy as np

        return np.array(self._mapped()[where])

    def _mapped(self) -> np.ndarray:
        import numpy as np

        mapped: np.ndarray = np.load(self._path, mmap_mode="r", allow_pickle=False)
        return mapped


def read_lazily(path: Path, chunks: tuple[int, ...] | None = None) -> dask.array.Array:
    """Return a file as a Dask array. Arrays of Zarr keep their chunks. Files other than .zarr and .npy are read now."""
    import dask.array as da

    from gatherscatter.cli.input_files import read_one

    source: Any
    if is_zarr(str(path)):
        source = StoredArray(path)
        own = source.chunks
    else:
        source = NpyFile(path) if path.suffix == ".npy" and NpyFile.can_map(path) else read_one(path)
        own = "auto"
    sizes = chunk_sizes(chunks, source.shape) or own
    return da.from_array(source, chunks=sizes)  # type: ignore[no-any-return, no-untyped-call]


def read_if_small(path: Path) -> Any:
    """Return indices or updates, as a Dask array if they are stored in Zarr or larger than Dask's default chunk."""
    from dask import config
    from dask.utils import parse_bytes

    from gatherscatter.cli.input_files import read_one

    largest = parse_bytes(config.get("array.chunk-size"))
    return read_lazily(path) if is_zarr(str(path)) or path.stat().st_size > largest else read_one(path)


def apply_with_dask(
    row: OpVersion,
    inputs: list[Any],
    attributes: dict[str, Any],
    output: Path | None,
    scheduler: str,
    memory_limit: int | None,
    *,
    resume: bool,
    dry_run: bool,
) -> None:
    """Build the graph, let the scheduler compute it, and write the result to ``output``."""
    if resume:
        raise click.UsageError(
            "--resume needs a scatter in place. With --scheduler, run the command again from the start"
        )
    if output is None or output.suffix != ".zarr":
        raise click.UsageError("--scheduler makes a new array: give --output a name that ends in .zarr")
    if memory_limit is not None and scheduler != LOCAL:
        raise click.UsageError(
            f"--memory-limit is for --scheduler {LOCAL}: the workers of a cluster have their own limits"
        )
    if memory_limit is not None and memory_limit < LEAST_MEMORY:
        raise click.UsageError("--memory-limit: a worker of Dask needs 300 MB for itself")
    result: Any = row(*inputs, **attributes)  # a Dask array, because data is one
    if dry_run:
        largest = "x".join(map(str, result.chunksize)) or "one element"
        facts = f"{count_text(result.npartitions, 'chunk')} of up to {largest}"
        tasks = count_text(len(result.dask), "task")
        click.echo(f"{row.name}: {row.output} {result.dtype} {result.shape} in {facts}, {tasks}")
        return
    with (
        _hide_messages(),
        ChunkProgress(row.name) as progress,
        replace_atomically(output) as part,
        _client(scheduler, memory_limit) as client,
    ):
        _store(result, part, client, progress)
    click.echo(f"written: {output}")


@contextmanager
def _hide_messages() -> Iterator[None]:
    """Hide what Dask and its worker processes print on stderr, except with --traceback. The command reports the error.

    The log and the warnings of this process are disabled. The workers get another stderr, because their messages have
    many sources: loggers, Python's end, libraries in C. `sys.stderr` of this process still prints to the terminal.
    """
    stderr, disabled = sys.stderr, logging.root.manager.disable
    if stderr is None or click.get_current_context().ensure_object(Settings).traceback:
        yield
        return
    with (
        open(os.devnull, "wb") as hidden,
        open(os.dup(2), "w", buffering=1, encoding=stderr.encoding, errors=stderr.errors) as shown,
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            os.dup2(hidden.fileno(), 2)
            if _writes_to(stderr, 2):
                sys.stderr = shown
            logging.disable()
            yield
        finally:
            logging.disable(disabled)
            sys.stderr = stderr
            os.dup2(shown.fileno(), 2)


def _writes_to(stream: Any, file: int) -> bool:
    try:
        return bool(stream.fileno() == file)
    except (AttributeError, OSError, ValueError):
        return False


@contextmanager
def _client(scheduler: str, memory_limit: int | None) -> Iterator[Client]:
    """Connect to the scheduler at an address, or start one local process with one thread per core."""
    with require("distributed", text="--scheduler needs Dask's scheduler", install="gatherscatter[distributed]"):
        from dask import config
        from distributed import Client, LocalCluster
    if scheduler != LOCAL:
        try:
            made = Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise click.UsageError(f"--scheduler {scheduler}: {error}") from error
        with made as client:
            yield client
        return
    options = {"n_workers": 1, "threads_per_worker": len(os.sched_getaffinity(0)), "dashboard_address": ":0"}
    try:
        with config.set({"distributed.scheduler.no-workers-timeout": RESTART}), _delay_ctrl_c():
            cluster = LocalCluster(**options, memory_limit=memory_limit or "auto")  # type: ignore[no-untyped-call]
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        text = f"Dask can't start a worker on this machine: {cause} (--traceback shows its messages)"
        raise RuntimeError(text) from error
    try:
        with Client(cluster) as client:  # type: ignore[no-untyped-call]
            yield client
    finally:
        with _delay_ctrl_c(), suppress(Exception):  # the result or the error of the call does not change
            cluster.close()


@contextmanager
def _delay_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, where the system can. Threads and processes started here never get it.

    If it interrupts Dask while a cluster starts or ends, processes and incomplete objects remain.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _store(result: dask.array.Array, output: Path, client: Client, progress: ChunkProgress) -> None:
    """Compute the result and write it, chunk by chunk, to a new array."""
    import dask.array as da
    import zarr
    from distributed import KilledWorker, as_completed, futures_of

    chunks = tuple(max(*sizes, 1) for sizes in result.chunks)
    target: Any = zarr.create_array(output.absolute(), shape=result.shape, chunks=chunks, dtype=result.dtype)
    aligned = result.rechunk(chunks) if result.size else result  # type: ignore[no-untyped-call]
    stored = da.store(aligned, target, lock=False, compute=False, return_stored=True, load_stored=False)
    futures = futures_of(client.persist(stored))  # type: ignore[no-untyped-call]
    try:
        for done, future in enumerate(as_completed(futures), 1):  # type: ignore[no-untyped-call]
            future.result()
            progress(done, len(futures), int(result.nbytes) * done // len(futures))
    except KilledWorker:
        text = "workers were killed repeatedly, probably because they ran out of memory: see --memory-limit"
        raise MemoryError(text) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise  # of the operator, or of a file
        raise RuntimeError(f"Dask ended the computation: {getattr(error, 'msg', None) or error}") from error
    finally:
        with suppress(Exception):  # the connection is lost
            client.cancel(futures)  # type: ignore[no-untyped-call]
