#!/usr/bin/env python3
"""Soak test: mixed calls from many threads and processes for a long time, with checks of all results and of memory.

    python tools/soak.py                                  # 4 threads in each of 2 processes, 10 minutes (Linux)
    python tools/soak.py --minutes 0.5 --threads 2 --processes 1 --seed 7

Small calls of every kind are the random cases of cases.py, judged by the oracle. The results of large calls, of up to
several MB, are compared by checksum with results of NumPy (`take`, `ufunc.at`, sums of integers for exact sums). The
test also makes calls that must fail without changing `out=`, and runs models of examples/ as whole files.

Every few seconds, all threads of a process stop between two calls. First, the pool of former results releases its
blocks and malloc releases its free pages. Both keep memory on purpose, in amounts that depend on the last calls. Then
the process measures the memory that it still holds. Three numbers must stay flat after a warm-up: the resident memory
without pages of files, the bytes allocated by malloc (fragmentation can neither hide nor imitate a leak in them), and
the objects of Python. Descriptors, mapped files and threads must not grow at all.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import itertools
import math
import multiprocessing
import os
import pickle
import random
import statistics
import sys
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance" / "src"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import ml_dtypes
import numpy as np
import onnx

import gatherscatter as gs
import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter_conformance.random_source import ByteChoices
from tests.support.cases import CASES
from tests.support.paths import EXAMPLES

WARM_UP = 0.2  # share of the time that is not judged
STUCK = 120  # seconds after which a call counts as hanging
MIB = 1 << 20

# ------------------------------------------------------------------------------------------------------- large inputs

# Rows, width and number of indices: a few elements; some KB; many updates to few rows; rows of several MB, for which
# threads and the pool are used; scalars scattered over a large destination.
SHAPES = {
    "tiny": (7, 3, 10),
    "small": (200, 16, 300),
    "crowded": (50, 8, 30_000),
    "rows": (30_000, 16, 50_000),
    "scalars": (600_000, 1, 500_000),
}
NUMBERS = {
    name: np.dtype(getattr(ml_dtypes, name, None) or name)
    for name in ("float16", "bfloat16", "float32", "float64", "int8", "int64", "bool", "complex64")
}
TEXT = {"object": np.dtype(object), "<U12": np.dtype("<U12"), "StringDType": np.dtypes.StringDType()}
# Values for which most additions of eighths must be rounded, but the sum in eighths still fits an integer.
SCALES = {"float16": 2**10, "bfloat16": 2**8, "float32": 2**22, "float64": 2**52}
HALVES = ("float16", "bfloat16")
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
SUMS = {"float64": ("exact",), "float32": ("exact",), "float16": ("wide", "exact"), "bfloat16": ("wide", "exact")}
# Without single steps for halves and exact sums for float64, which need arithmetic that NumPy does not have.
MEANS = SUMS | {"float64": ("step",), "float32": ("step", "exact")}
FORMS = ("rows", "columns", "box", "pairs", "tuples")
THREADS = (None, 1, 2, 3, 5)


class Table(NamedTuple):
    """Indices for one shape, and data and updates of every type. Calls only read them."""

    shape: tuple[int, int]
    indices: dict[str, np.ndarray]
    data: dict[str, np.ndarray]
    updates: dict[str, np.ndarray]  # flat; a form takes the number that it needs
    prepared: dict[str, gs.Prepared]

    def checksum(self) -> int:
        """Return a checksum of all arrays that calls must not change."""
        arrays = [*self.indices.values(), *self.data.values(), *self.updates.values()]
        return hash(tuple(map(checksum, arrays)))


def data_of(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> np.ndarray:
    if name in TEXT:
        words = [("word" if k % 3 else "a longer word"[: 9 + k % 4]) + str(k) for k in range(97)]
        return np.array(words, TEXT[name])[rng.integers(0, 97, shape)]
    scale = SCALES.get(name, 50)
    numbers = rng.integers(scale, 2 * scale, shape) * rng.choice([-1, 1], shape)
    if name == "complex64":
        numbers = numbers + 1j * numbers[::-1]
    return (numbers % 2 if name == "bool" else numbers).astype(NUMBERS[name])


def updates_of(rng: np.random.Generator, name: str, size: int) -> np.ndarray:
    """Return nonzero updates, for which products of floats are not NaN. Complex ones are units, for exact products."""
    if name in TEXT:
        return np.array([f"new {k}" for k in range(53)], TEXT[name])[rng.integers(0, 53, size)]
    if name == "complex64":
        return np.array([1, -1, 1j, complex(0, -1)], NUMBERS[name])[rng.integers(0, 4, size)]
    if name == "bool":
        return rng.integers(0, 2, size).astype(bool)
    numbers = rng.integers(1, 33, size) * rng.choice([-1, 1], size)
    return (numbers / 8 if name in SCALES else numbers).astype(NUMBERS[name])


def make_table(rng: np.random.Generator, n: int, width: int, count: int) -> Table:
    rows = rng.integers(-n, n, count)
    pairs = np.stack([rows, rng.integers(0, width, count)], axis=-1)
    columns = rng.integers(-width, width, width)
    box = rng.integers(-n, n, (count, width), np.int32)
    # Checksums of text create Python strings. Large amounts of them would leave holes in Python's heap.
    names = [*NUMBERS, *TEXT] if count * width <= 10_000 else list(NUMBERS)
    prepared = {
        "rows": gs.prepare(rows, n),
        "columns": gs.prepare(columns, (n, width), axis=1),
        "pairs": gs.prepare(pairs, (n, width)),
        "tuples": gs.prepare(rows[:, np.newaxis], (n, width)),
    }
    for each in prepared.values():
        require(each.counts.sum() == each.rows.size, "prepare has lost indices")  # groups them once, before the calls
    return Table(
        (n, width),
        {"rows": rows, "columns": columns, "box": box, "pairs": pairs, "tuples": rows[:, np.newaxis]},
        {name: data_of(rng, name, (n, width)) for name in names},
        {name: updates_of(rng, name, max(count * width, n * columns.size)) for name in names},
        prepared,
    )


def checksum(array: np.ndarray) -> int:
    if array.dtype.kind in "OUT":
        return zlib.crc32("\0".join(array.ravel().tolist()).encode())
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


# ------------------------------------------------------------------------------------------- large calls, and by NumPy


class Job(NamedTuple):
    """A call on a table. Its reduction is one of this package, `gather`, or `sum` of prepared indices."""

    table: str
    element: str
    form: str
    reduction: str
    include_self: bool = True
    accumulate: str = "step"


def all_jobs(tables: dict[str, Table]) -> list[Job]:
    """Return the calls that exist for each type and that NumPy can compute."""
    jobs = []
    for name, table in tables.items():
        for element, form in itertools.product(table.data, FORMS):
            jobs += [Job(name, element, form, "gather"), Job(name, element, form, "none")]
            reductions = set() if element in TEXT else {"add", "sub", "mul", "min", "max"}
            reductions -= {"bool": {"sub"}, "complex64": {"min", "max"}}.get(element, set())
            ways = SUMS.get(element, {})
            for reduction in sorted(reductions):
                jobs += [Job(name, element, form, reduction), Job(name, element, form, reduction, reduction == "sub")]
                if reduction in ("add", "sub"):
                    jobs += [Job(name, element, form, reduction, True, way) for way in ways]
            jobs += [
                Job(name, element, form, "mean", *how)
                for how in itertools.product((True, False), MEANS.get(element, ()))
            ]
            if form != "box" and element not in TEXT:
                jobs.append(Job(name, element, form, "sum"))
    return jobs


def targets(table: Table, form: str) -> np.ndarray:
    """Return the element of flat data for each slot, in the row-major order in which updates are applied."""
    numbers, indices = np.arange(math.prod(table.shape)).reshape(table.shape), table.indices[form]
    if form == "columns":
        return numbers[:, indices]
    if form == "box":
        return np.take_along_axis(numbers, indices.astype(np.int64), axis=0)
    return numbers[tuple(indices.T)] if form == "pairs" else numbers[indices.ravel()]


def result_shape(job: Job, table: Table) -> tuple[int, ...]:
    return updates_shape(job.form, table) if job.reduction == "gather" else table.shape


def updates_shape(form: str, table: Table) -> tuple[int, ...]:
    """Return the shape of updates, which is also the shape of the result of a gather."""
    (n, width), count = table.shape, len(table.indices["rows"])
    return {"columns": (n, table.indices["columns"].size), "pairs": (count,)}.get(form, (count, width))


def updates_for(job: Job, table: Table) -> np.ndarray:
    shape = updates_shape(job.form, table)
    return table.updates[job.element][: math.prod(shape)].reshape(shape)


def by_numpy(job: Job, table: Table, start: np.ndarray) -> np.ndarray:
    """Compute the result without the package. Every form is a choice of elements of flat data."""
    where = targets(table, job.form)
    if job.reduction == "gather":
        return start.ravel()[where]
    if job.reduction == "sum":
        job, start = job._replace(reduction="add"), np.zeros_like(start)
    flat, where, updates = start.ravel().copy(), where.ravel(), updates_for(job, table).ravel()
    last = np.full(flat.size, -1)
    np.maximum.at(last, where, np.arange(where.size))
    hit = last >= 0
    if job.reduction == "none" or (not job.include_self and job.reduction in ("min", "max")):
        flat[hit] = updates[last[hit]]
    elif not job.include_self:
        flat[hit] = 1 if job.reduction == "mul" else 0
    if job.reduction == "none":
        return flat.reshape(start.shape)
    counts = np.bincount(where, minlength=flat.size)[hit] + job.include_self
    with np.errstate(all="ignore"):
        if job.accumulate != "step":
            flat[hit] = rounded_once(job, flat, where, updates, counts)[hit]
        else:
            UFUNCS["add" if job.reduction == "mean" else job.reduction].at(flat, where, updates)
            if job.reduction == "mean":
                flat[hit] /= counts.astype(flat.dtype)
    return flat.reshape(start.shape)


def rounded_once(job: Job, flat: np.ndarray, where: np.ndarray, updates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sums that are rounded once. Values in eighths are integers, which int64 adds exactly."""
    total = (flat.astype(np.float64) * 8).astype(np.int64)
    eighths = (updates.astype(np.float64) * 8).astype(np.int64)
    (np.subtract if job.reduction == "sub" else np.add).at(total, where, eighths)
    if job.reduction != "mean":
        between = np.float64 if job.element == "float64" else np.float32
        return (total.astype(between) / 8).astype(flat.dtype)
    hit = np.unique(where)
    quotient = total.astype(np.float32 if job.accumulate == "wide" else np.float64) / 8
    quotient[hit] /= counts.astype(quotient.dtype)
    return quotient.astype(flat.dtype)


def by_package(job: Job, table: Table, data: np.ndarray, **options: Any) -> np.ndarray:
    """Call one of the six array functions."""
    kernel = {"rows": "update", "columns": "update", "box": "elements"}.get(job.form, "nd")
    if kernel != "nd":
        options["axis"] = 1 if job.form == "columns" else 0
    if job.reduction == "gather":
        function = {"update": gs.gather, "elements": gs.gather_elements, "nd": gs.gather_nd}[kernel]
        return function(data, table.indices[job.form], **options)
    function = {"update": gs.scatter_update, "elements": gs.scatter_elements, "nd": gs.scatter_nd}[kernel]
    options |= {"reduction": job.reduction, "include_self": job.include_self, "accumulate": job.accumulate}
    return function(data, table.indices[job.form], updates_for(job, table), **options)


# ---------------------------------------------------------------------------------------------------------- operations


class WrongError(AssertionError):
    """Raised for a wrong result."""


def require(condition: object, *what: object) -> None:
    if not condition:
        raise WrongError(*what)


def must_raise(kinds: type[Exception] | tuple, function: Callable, *inputs: Any, **options: Any) -> Any:
    """Return the error of a call that must fail."""
    try:
        result = function(*inputs, **options)
    except kinds as error:
        return error
    raise WrongError("no error, but", result)


class Soak:
    """The data that the threads of a process share: inputs that are only read, and the results of NumPy."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.tables = {name: make_table(rng, *shape) for name, shape in SHAPES.items()}
        # It has an entry for every checksum from the start, so it does not grow.
        self.expected: dict[Job, int | None] = dict.fromkeys(all_jobs(self.tables))
        self.jobs: dict[str, list[Job]] = {"gather": [], "scatter": [], "sum": []}
        for job in self.expected:
            self.jobs[job.reduction if job.reduction in self.jobs else "scatter"].append(job)
        self.graph = onnx.load(EXAMPLES / "message_passing" / "message_passing.onnx")
        self.model_inputs = {name: dict(np.load(EXAMPLES / name / "inputs.npz")) for name in MODEL_FILES}
        self.inputs = self.checksums()
        self.operations: dict[Callable[[random.Random], int], float] = {
            self.small: 30,
            self.array: 30,
            self.version: 8,
            self.prepared: 12,
            self.cache: 4,
            self.bad_index: 5,
            self.bad_arguments: 5,
            self.look: 3,
            self.model: 3,
        }

    def import_all(self) -> None:
        """Import modules that load at first use: run the simplest small case of every kind, and every model."""
        np.testing.assert_allclose(1, 1)
        for case in CASES.values():
            case(ByteChoices(b""))
        for name, files in MODEL_FILES.items():
            for file in files:
                gm.run(EXAMPLES / name / file, self.model_inputs[name])

    def checksums(self) -> list[int]:
        return [table.checksum() for table in self.tables.values()]

    def one(self, rng: random.Random) -> int:
        """Run a random operation, and return the number of expected errors."""
        return rng.choices(list(self.operations), list(self.operations.values()))[0](rng)

    def job(self, rng: random.Random, *kinds: str) -> tuple[Job, Table, np.ndarray]:
        job = rng.choice(self.jobs[rng.choice(kinds)])
        table = self.tables[job.table]
        return job, table, table.data[job.element]

    def judge(self, job: Job, result: np.ndarray, *how: object) -> None:
        """Compare with the result of NumPy. Only its checksum is kept, and it is computed at first use."""
        table = self.tables[job.table]
        data = table.data[job.element]
        require(result.dtype == data.dtype, job, how, result.dtype)
        if self.expected[job] is None:
            self.expected[job] = checksum(by_numpy(job, table, data))
        require(checksum(result) == self.expected[job], job, how)

    def small(self, rng: random.Random) -> int:
        """Compare any array function or op version with the oracle: text, all types, out= and prepared indices."""
        name, data = rng.choice(list(CASES)), rng.randbytes(rng.randrange(96))
        try:
            CASES[name](ByteChoices(data))
        except Exception as error:
            raise WrongError(f"python tools/fuzz.py --case '{name} {data.hex()}'") from error
        return 0

    def array(self, rng: random.Random) -> int:
        """Call an array function with a new array, a given array, or its own data as the output."""
        job, table, data = self.job(rng, "gather", "scatter")
        threads, target = rng.choice(THREADS), rng.choice(("new", "given", "own"))
        out = None
        if target == "own" and job.reduction != "gather" and job.element not in TEXT:
            out = data.copy()
        elif target == "given" and job.element not in TEXT:
            out = np.full(result_shape(job, table), 7).astype(data.dtype)
        own = out if target == "own" and out is not None else data
        result = by_package(job, table, own, out=out, num_threads=threads)
        require(out is None or result is out, job, "out= is not the result")
        require(result.shape == result_shape(job, table), job, result.shape)
        self.judge(job, result, target, threads)
        return 0

    def version(self, rng: random.Random) -> int:
        """Make large calls of op versions. CASES has small calls of all of them."""
        job, table, data = self.job(rng, "gather", "scatter")
        indices = table.indices[job.form]
        if job.reduction == "gather":
            name = {"rows": "Gather-13", "columns": "Gather-13", "box": "GatherElements-13"}.get(
                job.form, "GatherND-13"
            )
            result = gs.op(f"onnx.{name}")(data, indices, **({"axis": 1} if job.form == "columns" else {}))
        elif job.form in ("rows", "columns"):
            return 0  # ONNX does not have this scatter
        else:
            known = job.reduction in ("add", "mul", "min", "max") and job.element in SCALES
            job = Job(job.table, job.element, job.form, job.reduction if known else "none")
            op = gs.op("onnx.ScatterElements-18" if job.form == "box" else "onnx.ScatterND-18")
            result = op(data, indices, updates_for(job, table), reduction=job.reduction)
        self.judge(job, result, "onnx")
        return 0

    def prepared(self, rng: random.Random) -> int:
        """Use prepared indices that all threads share, a pickled copy of them, or newly prepared ones."""
        job, table, data = self.job(rng, "gather", "scatter", "sum")
        if job.form == "box":
            return 0  # lanes cannot be prepared
        form, threads = rng.choice(("shared", "shared", "pickled", "new")), rng.choice(THREADS)
        prepared = table.prepared[job.form]
        if form == "pickled":
            prepared = pickle.loads(pickle.dumps(prepared))
        elif form == "new":
            axis = {"rows": 0, "columns": 1}.get(job.form)
            prepared = gs.prepare(table.indices[job.form], table.shape, axis=axis)
        if job.reduction == "gather":
            result = prepared.gather(data, num_threads=threads)
        elif job.reduction == "sum":
            result = prepared.sum(updates_for(job, table), num_threads=threads)
        else:
            options = {"include_self": job.include_self, "accumulate": job.accumulate, "num_threads": threads}
            result = prepared.scatter(data, updates_for(job, table), reduction=job.reduction, **options)
        self.judge(job, result, form, threads)
        return 0

    def cache(self, rng: random.Random) -> int:
        """Write windows into a linear or circular cache of up to 2 MB. A window that does not fit is an error."""
        batch, length, width = rng.choice(((2, 5, 3), (8, 200, 16), (16, 512, 64)))
        new = rng.randint(1, length)
        update = np.arange(batch * new * width, dtype=np.float32).reshape(batch, new, width)
        starts, mode = [rng.randrange(length) for _ in range(batch)], rng.choice(("linear", "circular"))
        past = np.full((batch, length, width), -1, np.float32)
        expected = past.copy()
        if mode == "linear" and any(start + new > length for start in starts):
            error = must_raise(IndexError, gs.tensor_scatter, past, update, starts, out=past)
            require(error.op == "tensor_scatter" and (past == -1).all(), error)
            return 1
        for n, start in enumerate(starts):
            expected[n, (start + np.arange(new)) % length] = update[n]
        result = gs.tensor_scatter(past, update, starts, mode=mode, out=rng.choice((None, past)))
        require((result == expected).all(), "tensor_scatter", mode, batch, new, starts)
        return 0

    def bad_index(self, rng: random.Random) -> int:
        """Make a call with one bad index among many. The error names the position, and out= does not change."""
        job, table, data = self.job(rng, "gather", "scatter")
        indices = table.indices[job.form].astype(np.int64)
        at = tuple(rng.randrange(size) for size in indices.shape)
        indices[at] = rng.choice((10**6, -(10**6), 2**62))
        out = None
        if job.element not in TEXT and rng.random() < 0.7:
            out = np.full(result_shape(job, table), 7).astype(data.dtype)
            before = checksum(out)
        wrong = table._replace(indices={**table.indices, job.form: indices})
        error = must_raise(IndexError, by_package, job, wrong, data, out=out, num_threads=rng.choice(THREADS))
        require((error.positions, error.values, error.count) == ((at,), (int(indices[at]),), 1), job, error)
        require(out is None or checksum(out) == before, job, "an error changed out=")
        return 1

    def bad_arguments(self, rng: random.Random) -> int:
        """Check that functions, op versions and prepared indices refuse invalid shapes, types and attributes."""
        _, table, _ = self.job(rng, "gather", "scatter")
        prepared, rows = table.prepared["rows"], table.indices["rows"]
        updates = np.zeros((len(rows), table.shape[1]), np.float32)
        zeros = np.zeros(table.shape, np.float32)
        out = np.full(table.shape, 7, np.float32)
        kind, function, *inputs = rng.choice(
            (
                (ValueError, gs.scatter_update, zeros, rows, updates[1:]),
                (ValueError, gs.scatter_nd, zeros, rows, updates),
                (ValueError, gs.scatter_elements, zeros, rows, updates),
                (TypeError, gs.gather, zeros, rows.astype(np.float64)),
                (TypeError, gs.scatter_update, zeros, rows, updates.astype(np.complex64)),
                (ValueError, partial(gs.scatter_update, reduction="most"), zeros, rows, updates),
                (ValueError, partial(gs.gather, axis=2), zeros, rows),
            )
        )
        error = must_raise(kind, function, *inputs, out=out)
        require(error.op and (out == 7).all(), error)
        kind, function, *inputs = rng.choice(
            (
                (ValueError, prepared.scatter, zeros, updates[1:]),
                (ValueError, prepared.gather, zeros[1:]),
                (ValueError, partial(prepared.sum, num_threads=0), updates),
                (IndexError, gs.prepare, [10**6], table.shape[0]),
                (ValueError, partial(gs.op("onnx.ScatterND-16"), reduction="max"), zeros, rows[:, np.newaxis], updates),
                (TypeError, gs.op("onnx.Gather-13"), zeros, rows.astype(np.int8)),
                (IndexError, gs.op("openvino.GatherND-5"), zeros, [[-1]]),
                (IndexError, gs.op("openvino.ScatterUpdate-3"), zeros, [-1], updates[:1], 0),
            )
        )
        require(must_raise(kind, function, *inputs).op, function)
        return 2

    def look(self, rng: random.Random) -> int:
        """Call the functions that describe a call."""
        _, table, data = self.job(rng, "gather", "scatter")
        rows = table.indices["rows"]
        report = gs.inspect(rows[:, np.newaxis], table.shape)
        require(report.negative == np.count_nonzero(rows < 0), report)
        plan = gs.plan("gather", data, rows, num_threads=rng.choice(THREADS))
        require(plan.scratch_bytes >= 0, plan)
        return 0

    def model(self, rng: random.Random) -> int:
        """Run models from files, which are read each time, and one in memory. Some calls must fail."""
        name = rng.choice(list(MODEL_FILES))
        inputs, graph = self.model_inputs[name], rng.choice(MODEL_FILES[name])
        source: Any = EXAMPLES / name / graph
        if name == "message_passing" and rng.random() < 0.5:
            source = self.graph
        if rng.random() < 0.3:
            return self.bad_model(rng, source, name)
        results = gm.run(source, inputs)
        for key, expected in MODEL_RESULTS[name](inputs).items():
            require(results[key].tolist() == expected.tolist(), graph, key, results[key])
        return 0

    def bad_model(self, rng: random.Random, source: Any, name: str) -> int:
        """Check the errors for an index that is too large, a missing input, and a file that is not a model."""
        inputs = self.model_inputs[name]
        key = next(key for key in inputs if key in ("source", "parent_ids", "positions"))
        if rng.random() < 0.5:
            error = must_raise(IndexError, gm.run, source, {**inputs, key: np.full_like(inputs[key], 99)})
            require(error.__notes__, "no note names the node", error)
        else:
            must_raise(gm.ModelError, gm.run, source, {other: inputs[other] for other in inputs if other != key})
        must_raise(gm.ModelError, gm.run, EXAMPLES / name / "inputs.npz", inputs)
        return 2


# -------------------------------------------------------------------------------------------------------------- models


def messages(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    neighbours, largest = np.zeros_like(inputs["features"]), np.zeros_like(inputs["charges"])
    np.add.at(neighbours, inputs["target"], inputs["features"][inputs["source"]])
    np.maximum.at(largest, inputs["target"], inputs["charges"][inputs["source"]])
    return {"neighbours": neighbours, "largest_charge": largest}


def caches(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    expected = {}
    for name in ("key", "value"):
        present, new = inputs[f"{name}_cache"].copy(), inputs[f"new_{name}"]
        for n, start in enumerate(inputs["positions"]):
            present[n, :, start : start + new.shape[2]] = new[n]
        expected[f"present_{name}"] = present
    return expected


def beams(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    end = np.zeros((), np.int32)
    steps = oracle.gather_tree(inputs["step_ids"], inputs["parent_ids"], inputs["max_seq_len"], end)
    return {"sentences": steps.transpose(1, 2, 0)}


MODEL_FILES = {
    "message_passing": ["message_passing.onnx"],
    "kv_cache": ["scatter_nd.onnx", "tensor_scatter.onnx"],
    "beam_search": ["beam_search.xml"],
}
MODEL_RESULTS = {"message_passing": messages, "kv_cache": caches, "beam_search": beams}

# ----------------------------------------------------------------------------------------------------- what is held


class Held(NamedTuple):
    """The resources of a process while none of its calls runs."""

    own: int  # resident bytes that do not belong to a file
    resident: int  # all resident bytes; the system may drop and reload pages of libraries
    allocated: int  # bytes allocated by malloc
    objects: int  # small objects of Python, for which malloc is not called one by one
    files: int  # open descriptors
    mapped: int  # parts of files in memory, counted by the slashes of their paths
    threads: int
    busy: int  # resident bytes before the pool and malloc release memory


class MallInfo(ctypes.Structure):
    """glibc's struct mallinfo2."""

    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


LIBC = ctypes.CDLL(None)
GLIBC = all(hasattr(LIBC, name) for name in ("mallinfo2", "malloc_trim", "mallopt"))
if GLIBC:
    LIBC.mallinfo2.restype = MallInfo


def keep_heaps_tight() -> None:
    """Make resident memory follow the allocated memory. This hides no allocation.

    Blocks of 128 KiB and more get separate pages, which are released when the block is freed. By default glibc raises
    this limit up to 32 MiB whenever such a block is freed. Large blocks, which come mostly from NumPy here, would then
    leave holes of all sizes. All threads use one heap, because malloc_trim does not trim the ends of other heaps. Huge
    pages are off, because with them a few bytes in an empty part of a heap count as 2 MiB. Without these settings, the
    resident memory varies by MBs while the allocated memory stays the same.
    """
    if GLIBC:
        M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX, PR_SET_THP_DISABLE = -3, -4, -8, 41  # noqa: N806
        LIBC.mallopt(M_MMAP_THRESHOLD, 128 * 1024)
        LIBC.mallopt(M_MMAP_MAX, 1 << 20)
        LIBC.mallopt(M_ARENA_MAX, 1)
        LIBC.prctl(PR_SET_THP_DISABLE, *(ctypes.c_ulong(n) for n in (1, 0, 0, 0)))


def memory() -> tuple[int, int]:
    """Return the private and the resident bytes, counted page by page. /proc/self/statm may be off by some pages."""
    fields = dict(line.split()[:2] for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return int(fields["Anonymous:"]) * 1024, int(fields["Rss:"]) * 1024


def held() -> Held:
    """Return the resources of the process. All threads must be stopped."""
    gc.collect()
    (_, busy), limit = memory(), gs.pool_limit()
    require(gs.pool_size() <= limit, "the pool is beyond its limit", gs.pool_size())
    gs.set_pool_limit(0)
    require(gs.pool_size() == 0, "the pool is not empty", gs.pool_size())
    gs.set_pool_limit(limit)
    allocated = 0
    if GLIBC:
        LIBC.malloc_trim(0)
        info = LIBC.mallinfo2()
        allocated = info.uordblks + info.hblkhd
    files, threads = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    mapped = Path("/proc/self/maps").read_text().count("/")
    return Held(*memory(), allocated, sys.getallocatedblocks(), files, mapped, threads, busy)


# ------------------------------------------------------------------------------------------------- threads, processes


class Worker(threading.Thread):
    """A thread that makes random calls until the gate ends."""

    def __init__(self, soak: Soak, seed: str, gate: Gate) -> None:
        super().__init__(daemon=True)
        self.soak, self.rng, self.gate = soak, random.Random(seed), gate
        self.calls = self.errors = 0
        self.failure = ""

    def run(self) -> None:
        try:
            while self.gate.open():
                self.errors += self.soak.one(self.rng)
                self.calls += 1
        except threading.BrokenBarrierError:
            pass  # another thread failed
        except Exception:
            self.failure = traceback.format_exc()
            self.gate.barrier.abort()


class Gate:
    """A gate at which the threads stop between two calls while memory is measured."""

    def __init__(self, threads: int) -> None:
        self.barrier = threading.Barrier(threads + 1, timeout=STUCK)
        self.closed = self.ended = False

    def open(self) -> bool:
        """Wait while memory is measured. Return False at the end. The threads call this."""
        if self.closed:
            self.barrier.wait()  # all threads have stopped
            self.barrier.wait()  # measured
        return not self.ended

    def measure(self, end: bool) -> Held:
        """Stop the threads, measure, and let them continue or end."""
        self.closed = True
        self.barrier.wait()
        try:
            return held()
        finally:
            self.closed, self.ended = False, end
            self.barrier.wait()


def run_process(number: int, given: argparse.Namespace, parent: Connection) -> None:
    """Run one process. It sends a Record every few seconds, and at the end its failures as text."""
    faulthandler.enable()
    keep_heaps_tight()
    warnings.simplefilter("ignore", DeprecationWarning)  # Scatter-11 is deprecated
    soak = Soak(given.seed + number)
    soak.import_all()
    gs.gather(np.zeros(10**6), np.arange(10**6), num_threads=max(n or 1 for n in THREADS))  # starts all threads
    gate = Gate(given.threads)
    workers = [Worker(soak, f"{given.seed} {number} {n}", gate) for n in range(given.threads)]
    for worker in workers:
        worker.start()
    seconds, start, failures = given.minutes * 60, time.monotonic(), []
    passed = 0.0
    try:
        while passed < seconds:
            time.sleep(min(max(seconds / 100, 0.2), 5))
            passed = time.monotonic() - start
            sample = gate.measure(end=passed >= seconds)
            parent.send(Record(passed, sum(w.calls for w in workers), sum(w.errors for w in workers), sample))
            require(soak.checksums() == soak.inputs, "a call has changed its inputs")
    except threading.BrokenBarrierError:
        failures = [worker.failure for worker in workers if worker.failure]
        if not failures:
            faulthandler.dump_traceback()
            failures = [f"a call did not return for {STUCK} s"]
    except Exception:
        failures = [traceback.format_exc()]
    parent.send("\n".join(failures))


class Record(NamedTuple):
    """A report of a process."""

    seconds: float
    calls: int
    errors: int
    held: Held


def line(records: list[Record]) -> str:
    """Return a line about the newest records of all processes."""

    def all_of(form: str, name: str, unit: int = 1) -> str:
        return " ".join(form.format(getattr(record.held, name) / unit) for record in records)

    seconds = round(max(record.seconds for record in records))
    calls, errors = sum(record.calls for record in records), sum(record.errors for record in records)
    return (
        f"{seconds // 60:3}:{seconds % 60:02}  {calls:10,} calls  {errors:9,} expected errors"
        f"  own {all_of('{:.1f}', 'own', MIB)}  RSS {all_of('{:.1f}', 'resident', MIB)}"
        f"  busy {all_of('{:.1f}', 'busy', MIB)} MiB"
        f"  fds {all_of('{:.0f}', 'files')}  threads {all_of('{:.0f}', 'threads')}"
    )


def watch(given: argparse.Namespace) -> tuple[list[list[Record]], list[str]]:
    """Run the processes and print their reports. Return the records and the failures."""
    context = multiprocessing.get_context("spawn")
    histories: list[list[Record]] = [[] for _ in range(given.processes)]
    children, numbers, failures = [], {}, []
    for number in range(given.processes):
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=run_process, args=(number, given, theirs), daemon=True)
        child.start()
        theirs.close()  # so the pipe ends with the process
        children.append(child)
        numbers[ours] = number
    every = min(30, given.minutes * 15)
    printed = 0
    while numbers and not failures:
        for ours in wait(list(numbers)):
            number = numbers[ours]
            try:
                said = ours.recv()
            except EOFError:
                children[number].join()
                said = f"the process ended with exit code {children[number].exitcode}"
            if isinstance(said, Record):
                histories[number].append(said)
                continue
            failures += [f"process {number}: {said}"] if said else []
            del numbers[ours]
        newest = [history[-1] for history in histories if history]
        if len(newest) == given.processes and min(record.seconds for record in newest) // every > printed:
            printed = min(record.seconds for record in newest) // every
            print(line(newest), flush=True)
    for child in children:
        child.terminate() if failures else child.join()
    return histories, failures


def growth(history: list[Record], percent: float) -> tuple[str, list[str]]:
    """Return the changes from the first third after the warm-up to the last in words, and the numbers that grew."""
    judged = [record.held for record in history if record.seconds >= WARM_UP * history[-1].seconds]
    third = len(judged) // 3
    if not third:
        return "", ["too few samples"]
    first, last = judged[:third], judged[-third:]
    words, grown = [], []
    for name, unit, label in (
        ("own", MIB, "own memory {:.1f} -> {:.1f} MiB"),
        ("allocated", MIB, "malloc {:.2f} -> {:.2f} MiB"),
        ("objects", 1, "objects {:.0f} -> {:.0f}"),
    ):
        old, new = (statistics.median(getattr(sample, name) for sample in part) for part in (first, last))
        change = 100 * (new / old - 1) if old else 0
        words.append(f"{label.format(old / unit, new / unit)} ({change:+.2f} %)")
        grown += [name] if change > percent else []
    for name in ("files", "mapped", "threads"):
        old, new = (max(getattr(sample, name) for sample in part) for part in (first, last))
        words.append(f"{name} {old} -> {new}")
        grown += [name] if new > old else []
    return ", ".join(words), grown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=4, help="in each process")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    parser.add_argument("--growth", type=float, default=1, metavar="PERCENT", help="growth of memory that is allowed")
    given = parser.parse_args()
    if not Path("/proc/self/smaps_rollup").exists():
        parser.error("the memory of a process can be measured only on Linux")
    print(
        f"{given.processes} processes of {given.threads} threads, {given.minutes:g} minutes, seed {given.seed}",
        flush=True,
    )
    histories, failures = watch(given)
    for number, history in enumerate(histories if not failures else ()):
        words, grown = growth(history, given.growth)
        print(f"process {number}, first to last third after the warm-up: {words}")
        failures += [f"process {number}: {name} has grown" for name in grown]
    print("\n".join(failures), end="\n" if failures else "")
    print("FAILED" if failures else "PASSED: all results correct, memory flat, no handles lost")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
