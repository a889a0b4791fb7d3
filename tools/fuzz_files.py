"""Fuzz damaged files of arrays (.npy, .npz, .pb) and damaged journals of Zarr jobs.

Reading one must end in a result or an error of one line, within 2 seconds and 200 MB. A journal that is read without an
error must have its former contents.

    python tools/fuzz_files.py --seconds 600
    python tools/fuzz_files.py --case npz-lzma:1234 --keep build/case    # repeat one case and keep its file

test_tensor_files.py and test_zarr.py have the messages about single faults. test_model_fuzz.py runs a few thousand
cases.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import random
import re
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from gatherscatter.arrays.tensor_files import TensorFileError, read_tensors, write_tensors
from gatherscatter.zarr.journal import FinishedJobs, JobError, Journal, read_entries
from tools.fuzz_models.limits import HANG, MEMORY, SECONDS, Meter, limit_addresses
from tools.fuzz_models.messages import check_one_line
from tools.fuzz_models.watching import Watch

# Good files


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(members: dict[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return buffer.getvalue()


def members() -> dict[str, bytes]:
    numbers = np.random.default_rng(0).integers(0, 9, (20, 50))
    return {"a.npy": npy(numbers), "/model/b.npy": npy(np.zeros(1000, np.int8)), "ä:1.npy": npy(np.array(["x", "yz"]))}


def narrow() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        write_tensors(path, {"x": np.ones((2, 3), ml_dtypes.bfloat16)})
        return path.read_bytes()


@cache
def journal() -> dict[str, bytes]:
    """Return the two files of a journal."""
    with tempfile.TemporaryDirectory() as folder:
        made = Journal(Path(folder), "0" * 32, "scatter_nd add of 4 index tuples", None)
        for number in (0, 1, 12, 1):
            made.announce((number, 3), np.arange(number), np.arange(number + 1))
        made.close()
        return {name: (Path(folder) / name).read_bytes() for name in ("journal", "journal-state")}


def finished() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        FinishedJobs(Path(folder)).add("name", "0" * 32)
        (file,) = Path(folder).iterdir()
        return file.read_bytes()


KINDS: dict[str, Callable[[], bytes]] = {
    "npy-int64": lambda: npy(np.arange(24).reshape(2, 3, 4)),
    "npy-fortran": lambda: npy(np.asfortranarray(np.ones((3, 5), ">f4"))),
    "npy-fields": lambda: npy(np.zeros(3, [("a", "i4"), ("b", [("c", "U3"), ("d", "M8[ns]", (2,))])])),
    "npy-bfloat16": narrow,
    "npz-stored": lambda: archive(members(), zipfile.ZIP_STORED),
    "npz-deflate": lambda: archive(members(), zipfile.ZIP_DEFLATED),
    "npz-bzip2": lambda: archive(members(), zipfile.ZIP_BZIP2),
    "npz-lzma": lambda: archive(members(), zipfile.ZIP_LZMA),
    "pb-float": lambda: numpy_helper.from_array(np.ones((3, 4), np.float32), "x").SerializeToString(),
    "pb-int32": lambda: helper.make_tensor("x", TensorProto.INT32, [2, 2], [1, -1, 2, 3]).SerializeToString(),
    "pb-string": lambda: helper.make_tensor("x", TensorProto.STRING, [3], [b"a", b"", b"\xc3\xa4"]).SerializeToString(),
    "pb-int4": lambda: helper.make_tensor("x", TensorProto.INT4, [3], [1, 2, -3]).SerializeToString(),
    "journal": lambda: journal()["journal"],
    "journal-state": lambda: journal()["journal-state"],
    "done": finished,
}


@cache
def good(kind: str) -> bytes:
    return KINDS[kind]()


# Damage


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def replace(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at : at + rng.choice((1, 2, 4, 8))] = rng.choice(
        (
            b"\0",
            b"\xff",
            b"\0" * 4,
            b"\xff" * 4,
            b"\xff" * 8,
            b"\n",
            b"\r",
            b"\x0c",
            b"\x08\0",
            b"\x0e\0",
            rng.randbytes(4),
        )
    )


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def cut(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 40)]


def insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice((rng.randbytes(rng.randrange(1, 30)), b"\n", b"\0" * rng.randrange(1, 3000)))


def duplicate(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    to = rng.randrange(len(data) + 1)
    data[to:to] = data[at : at + rng.randrange(1, 200)]


def grow(data: bytearray, rng: random.Random) -> None:
    data += rng.choice((rng.randbytes(9), b"\0" * 5000, bytes(data), b"\n", bytes(data[-22:])))


def say(data: bytearray, rng: random.Random) -> None:
    """Damage a text: the header of a .npy file, or a line of a journal."""
    found = [match.span() for match in re.finditer(rb"'[^']{1,9}'|\"[^\"]{1,40}\"|\d+|[({\[\])},:]", data)]
    if found:
        start, end = rng.choice(found)
        text = rng.choice(TEXTS)
        data[start:end] = text.ljust(end - start) if rng.random() < 0.5 else text


TEXTS = (
    *(b"(", b"[", b"{", b")", b"'", b'"', b",", b"-", b"1e9", b"-1", b"None", b"True", b"0L", b"\\", b"b''", b"..."),
    *(b"9" * 30, b"9" * 5000, b"(" * 300, b"[" * 3000, b"-" * 3000, b"'O'", b"'|V0'", b"'<U999999999'", b"'<i8,O'"),
    *(b"[('a','<f8',(9,9))]", b"[('a','V1'),('a','V1')]", b"'\\d'", b"'\\ud800'", b"{}", b"null", b"NaN", b"'M8[1ns]'"),
    *(b"('<i8', (9999999999, 9))", b"'<i8'*9", b"'\xff'", b"[[]]", b"(((((1,),),),),)", b"2**62", b"'>c32'", b"'S0'"),
)  # fmt: skip


def describe_wrongly(data: bytearray, rng: random.Random) -> None:
    """Change one number in the directory of an archive, or in the header of a member."""
    positions = [match.start() for match in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06", data)]
    if positions:
        at, form = rng.choice(positions) + 2 * rng.randrange(2, 23), rng.choice(("<H", "<I"))
        values = (0, 1, 8, 9, 12, 14, 20, 93, 0xFFFF, rng.getrandbits(16))
        number = rng.choice(values) if form == "<H" else rng.choice((*values, 0xFFFFFFFF, 0x7FFFFFFF, len(data)))
        if at + 4 <= len(data):
            struct.pack_into(form, data, at, number)


DAMAGE = (flip, replace, truncate, cut, insert, duplicate, grow, say, describe_wrongly)


def damaged(kind: str, number: int) -> tuple[bytes, str]:
    """Return the file of a case, and a description of the damage."""
    rng = random.Random(number)
    data, log = bytearray(good(kind)), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        one = rng.choice(DAMAGE)
        if data:
            one(data, rng)
            log.append(one.__name__)
    return bytes(data), " ".join(log)


# Judging


def use(kind: str, path: Path) -> list[str]:
    """Read a file, and return the faults of the result."""
    if kind in journal():
        return journal_faults(path)
    if kind == "done":
        return [] if FinishedJobs(path.parent).has("name", "0" * 32) else ["a finished job was forgotten"]
    found = read_tensors(path)
    wrong = [name for name, array in found.items() if not isinstance(name, str) or not isinstance(array, np.ndarray)]
    return [f"names or arrays: {wrong!r}"] if wrong else []


def journal_faults(path: Path) -> list[str]:
    """Check that a journal with one damaged file is refused, or has all of its entries."""
    (other,) = journal().keys() - {path.name}
    (path.parent / other).write_bytes(good(other))
    found = read_entries(path.parent)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in journal().items():
            (Path(folder) / name).write_bytes(content)
        return [] if found == read_entries(Path(folder)) else [f"another journal: {found!r}"[:300]]


def file_name(kind: str) -> str:
    if kind in journal():
        return kind
    if kind == "done":
        import hashlib

        return f"done-{hashlib.blake2b(b'name', digest_size=16).hexdigest()}"
    return f"x.{kind.partition('-')[0]}"


def judge(kind: str, path: Path, watch: Watch) -> tuple[list[str], Meter, str]:
    """Return the faults of reading a file, its cost, and the traceback."""
    allowed = JobError if kind in (*journal(), "done") else TensorFileError
    faults: list[str] = []
    trace = ""
    with Meter() as meter, watch.over(path.parent), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            faults += use(kind, path)
        except allowed as error:
            faults += check_one_line(str(error), "message")
        except Exception as error:
            faults.append(f"{type(error).__name__}: {str(error)[:200]!r}")
            trace = traceback.format_exc()
    faults += [f"warning {one.category.__name__}: {one.message}" for one in warned]
    faults += [] if kind in (*journal(), "done") else [f"file: {one}" for one in watch.found]
    faults += [f"seconds: {meter.seconds:.1f}"] if meter.seconds > SECONDS else []
    faults += [f"megabytes: {meter.memory >> 20}"] if meter.memory > MEMORY else []
    return faults, meter, trace


def fuzz(kinds: list[str], seed: int, end: Callable[[int], bool]) -> int:
    """Judge cases until ``end``, print the faults, and return the number of their kinds."""
    watch, found = Watch(), dict[str, list[str]]()
    done, errors, slowest, largest = 0, 0, (0.0, ""), (0, "")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            path = Path(folder) / file_name(kind)
            path.write_bytes(good(kind))
            assert not judge(kind, path, watch)[0], kind
        limit_addresses()
        while not end(done):
            kind, number = kinds[done % len(kinds)], seed + done
            path = Path(folder) / file_name(kind)
            path.write_bytes(damaged(kind, number)[0])
            faulthandler.dump_traceback_later(HANG, exit=True)
            faults, meter, trace = judge(kind, path, watch)
            faulthandler.cancel_dump_traceback_later()
            frame = [line.strip() for line in trace.splitlines() if "File " in line][-1:]
            for fault in faults:
                key = " ".join([kind.partition("-")[0], fault.partition(":")[0], *frame])
                found.setdefault(key, []).append(f"{kind}:{number} {fault}")
            slowest = max(slowest, (meter.seconds, f"{kind}:{number}"))
            largest = max(largest, (meter.memory, f"{kind}:{number}"))
            done += 1
            errors += bool(faults)
    print(f"{done} files, {errors} with faults of {len(found)} kinds; most time {slowest[0]:.2f} s ({slowest[1]}), "
          f"most memory {largest[0] >> 20} MB ({largest[1]})")  # fmt: skip
    for key, examples in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(examples)} times: {key}", *(f"    {example}" for example in examples[:3]), sep="\n")
    return len(found)


def again(case: str, keep: Path | None) -> int:
    kind, _, number = case.partition(":")
    data, log = damaged(kind, int(number))
    with tempfile.TemporaryDirectory() as folder:
        path = (keep or Path(folder)) / file_name(kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        faults, meter, trace = judge(kind, path, Watch())
    print(log, *faults, f"{meter.seconds:.2f} s, {meter.memory >> 20} MB", trace, sep="\n")
    return len(faults)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--case", metavar="KIND:NUMBER")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    given: Any = parser.parse_args()
    if given.case:
        return 1 if again(given.case, given.keep) else 0
    print(f"seed {given.seed}", flush=True)
    stop = time.monotonic() + given.seconds
    return 1 if fuzz(given.kinds, given.seed, lambda done: done >= given.cases or time.monotonic() > stop) else 0


if __name__ == "__main__":
    sys.exit(main())
