"""The C interface through ctypes, as a host program calls it.

GATHERSCATTER_C_HOST is a command that runs c_interface_host.c with another library, such as that for Windows under
Wine. `call` then sends its calls there. Tests that need the library in this process are skipped.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shlex
import struct
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p, sizeof
from functools import cache
from typing import Any

import numpy as np
import pytest

from gatherscatter.system.native_library import library_path

KERNELS = (
    "gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd", "gather_reduce",
    "gather_quantized",
)  # fmt: skip
TYPES = (
    "opaque", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
FIRST_CODES = len(TYPES)
CODES = (
    "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn",
)  # fmt: skip
ENUMS = {
    "reduction": ("none", "add", "sub", "mul", "min", "max", "mean"),
    "accumulate": ("step", "wide", "exact"),
    "mode": ("raise", "wrap", "clip", "skip"),
    "negative": ("error", "end", "skip"),
}
MODES = {"fill": "skip", "drop": "skip"}  # the names in Python
ERRORS = {1: TypeError, 2: ValueError, 3: IndexError, 4: MemoryError}


class Tensor(Structure):
    _fields_ = [("type", c_int32), ("rank", c_int32), ("shape", POINTER(c_int64)), ("item_size", c_int64)]


class Operation(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kernel", c_int32),
        ("name", c_char_p),
        ("axis", c_int64),
        ("batch_dims", c_int64),
        ("mode", c_int32),
        ("negative", c_int32),
        ("reduction", c_int32),
        ("include_self", c_int32),
        ("accumulate", c_int32),
        ("num_segments", c_int64),
        ("quantize_axis", c_int64),
        ("block_size", c_int64),
        ("bits", c_int64),
        ("packed", c_int32),
    ]


FIRST_OPERATION_SIZE = Operation.quantize_axis.offset  # of version 1


TASK = ctypes.CFUNCTYPE(None, c_void_p, c_size_t)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, c_void_p, TASK, c_void_p, c_size_t)


class Threads(Structure):
    _fields_ = [("struct_size", c_size_t), ("count", c_int32), ("parallel_for", PARALLEL_FOR), ("context", c_void_p)]


HOST = os.environ.get("GATHERSCATTER_C_HOST")


@cache
def load() -> Any:
    if HOST:
        pytest.skip("needs the library in this process")
    library = ctypes.CDLL(str(library_path()))
    functions: dict[str, tuple[Any, list[Any]]] = {
        "c_version": (c_uint32, []),
        "status_code": (c_int32, [c_void_p]),
        "status_message": (c_char_p, [c_void_p]),
        "status_release": (None, [c_void_p]),
        "operation_init": (None, [c_void_p, c_size_t, c_int32]),
        "plan_create": (c_void_p, [c_void_p, c_void_p, c_size_t, c_void_p]),
        "plan_shape": (POINTER(c_int64), [c_void_p, c_void_p]),
        "plan_release": (None, [c_void_p]),
        "plan_run": (c_void_p, [c_void_p, c_void_p, c_void_p, c_void_p]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, f"gatherscatter_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def check(status: int | None) -> None:
    """Raise the error of a status, and release the status."""
    library = load()
    if status is None:
        assert library.gatherscatter_status_code(None) == 0
        assert library.gatherscatter_status_message(None) == b""
        return
    code = library.gatherscatter_status_code(status)
    message = library.gatherscatter_status_message(status).decode()
    library.gatherscatter_status_release(status)
    raise ERRORS[code](message)


def describe(array: np.ndarray | None, codes: bool = False) -> Tensor:
    """Describe an array as a tensor. None is absent. ``codes``: the elements of a quantized table have their type."""
    if array is None:
        return Tensor(0, -1, None, 0)
    known = TYPES.index(array.dtype.name) if array.dtype.name in TYPES else 0
    if codes and array.dtype.name in CODES:
        known = FIRST_CODES + CODES.index(array.dtype.name)
    return Tensor(known, array.ndim, (c_int64 * array.ndim)(*array.shape), array.itemsize)


def make_operation(kernel: str | int, **options: Any) -> Operation:
    number = KERNELS.index(kernel) if isinstance(kernel, str) else kernel
    if HOST:
        reduction = ENUMS["reduction"].index("add" if kernel == "gather_reduce" else "none")
        operation = Operation(sizeof(Operation), number, None, 0, 0, 0, 1, reduction, 1, 0, -1, -1, 128, 4, 1)
    else:
        operation = Operation()
        load().gatherscatter_operation_init(byref(operation), sizeof(operation), number)
    for name, value in options.items():
        if isinstance(value, str) and name in ENUMS:
            value = ENUMS[name].index(MODES.get(value, value))
        setattr(operation, name, value.encode() if isinstance(value, str) else value)
    return operation


class Plan:
    """A plan that is released with its object."""

    def __init__(self, kernel: str, *arrays: np.ndarray | None, **options: Any) -> None:
        self.address = c_void_p()
        operation = make_operation(kernel, **options)
        self.kernel, self.packed = kernel, kernel == "gather_quantized" and bool(operation.packed)
        tensors = (Tensor * len(arrays))(*(describe(array, kernel == "gather_quantized") for array in arrays))
        check(load().gatherscatter_plan_create(byref(operation), tensors, len(arrays), byref(self.address)))
        rank = c_int32()
        shape = load().gatherscatter_plan_shape(self.address, byref(rank))
        self.shape = tuple(shape[: rank.value])

    def run(
        self, *arrays: np.ndarray | None, out: np.ndarray | None = None, threads: Threads | None = None
    ) -> np.ndarray:
        stored = [pack(array) if self.packed else array for array in arrays]
        inputs = (c_void_p * len(arrays))(*(None if array is None else array.ctypes.data for array in stored))
        result = np.empty(self.shape, result_type(self.kernel, arrays)) if out is None else out
        where = None if threads is None else byref(threads)
        check(load().gatherscatter_plan_run(self.address, inputs, result.ctypes.data, where))
        return result

    def __del__(self) -> None:
        if not HOST:
            load().gatherscatter_plan_release(self.address)


def call(
    kernel: str,
    *arrays: np.ndarray | None,
    out: np.ndarray | None = None,
    threads: Threads | None = None,
    **options: Any,
) -> np.ndarray:
    """Run one call of a kernel on contiguous arrays."""
    if HOST and threads is None:
        return call_host(make_operation(kernel, **options), arrays, out)
    return Plan(kernel, *arrays, **options).run(*arrays, out=out, threads=threads)


def pack(array: np.ndarray | None) -> np.ndarray | None:
    """Store two elements of 4 bits in each byte, as ONNX does. Other arrays do not change."""
    if array is None or array.dtype.name not in ("int4", "uint4", "float4_e2m1fn"):
        return array
    codes = np.append(array.reshape(-1).view(np.uint8), np.uint8(0))[: -(-array.size // 2) * 2] & 15
    return np.asarray(codes[::2] | codes[1::2] << 4)


def result_type(kernel: str, arrays: Sequence[np.ndarray | None]) -> np.dtype[Any]:
    first = arrays[2 if kernel == "gather_quantized" else 0]
    assert first is not None
    return first.dtype


def limit_threads(count: int) -> Threads:
    return Threads(ctypes.sizeof(Threads), count, PARALLEL_FOR(), None)


def host_threads(
    pool: ThreadPoolExecutor, count: int, order: Callable[[int], Sequence[int]] = range, calls: list[int] | None = None
) -> Threads:
    """Return the threads of a host: a pool that takes tasks in some order. ``calls`` collects the numbers of tasks."""

    def parallel_for(_context: int, task: Any, argument: int, n: int) -> None:
        if calls is not None:
            calls.append(n)
        list(pool.map(lambda i: task(argument, i), order(n)))

    return Threads(ctypes.sizeof(Threads), count, PARALLEL_FOR(parallel_for), None)


@cache
def host() -> subprocess.Popen[bytes]:
    assert HOST
    process = subprocess.Popen(shlex.split(HOST), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)  # the end of its input ends the process
    return process


def call_host(operation: Operation, arrays: Sequence[np.ndarray | None], out: np.ndarray | None) -> np.ndarray:
    """Run a call in the other process. It runs with several kinds of threads there."""
    sent, received = host().stdin, host().stdout
    assert sent
    assert received

    def send(*values: int | bytes) -> None:
        for value in values:
            sent.write(struct.pack("<q", value if isinstance(value, int) else len(value)))
            if isinstance(value, bytes):
                sent.write(value)

    def number() -> int:
        content = received.read(8)
        assert len(content) == 8, "the host has ended"
        return int(struct.unpack("<q", content)[0])

    name, operation.name = operation.name, None
    kernel = KERNELS[operation.kernel] if operation.kernel in range(len(KERNELS)) else ""
    has_codes = kernel == "gather_quantized"
    dtype = result_type(kernel, arrays)
    send(out is not None, dtype.itemsize, bytes(operation), name or b"", len(arrays))
    for array in arrays:
        tensor = describe(array, has_codes)
        send(tensor.type, tensor.rank, tensor.item_size)
        if array is not None:
            stored = pack(array) if has_codes and operation.packed else array
            assert stored is not None
            send(*array.shape, stored.tobytes())
    sent.flush()
    code, message = number(), received.read(number()).decode()
    shape = [number() for _ in range(number())]
    content = received.read(number())
    if out is not None and content:
        out[...] = np.frombuffer(content, out.dtype).reshape(out.shape)
    if code:
        raise ERRORS[code](message)
    return np.frombuffer(content, dtype).reshape(shape).copy() if out is None else out
