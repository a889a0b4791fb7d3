"""Read and write the file of the corpus: a zip with an index in JSON, and an array of values for each element type.

docs/corpus.md describes the format for readers in other languages.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from gatherscatter.specs import dtype_of
from gatherscatter_conformance.case import Case, element_type

FORMAT = 1
INDEX = "corpus.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same cases give the same file


def to_storable(array: np.ndarray) -> np.ndarray:
    """Return the array in a form that a .npy file can hold: the bits, for types that NumPy does not have."""
    if element_type(array) == "string":
        return array.astype(str)
    registered_later = array.dtype.isbuiltin == 2
    return array.view(f"u{array.itemsize}") if registered_later else array


class Pools:
    """The values of arrays, concatenated by type. A sequence of values that is already there is not stored again."""

    def __init__(self) -> None:
        self._values: dict[str, list[Any]] = {}
        self._lengths: dict[str, int] = {}
        self._offsets: dict[tuple[str, bytes], int] = {}

    def add(self, array: np.ndarray | None) -> dict[str, Any] | None:
        """Add an array. Return its type, its shape, and the position of its values."""
        if array is None:
            return None
        name = element_type(array)
        flat = array.reshape(-1)
        key = (name, json.dumps(flat.tolist()).encode() if name == "string" else flat.tobytes())
        if key not in self._offsets:
            self._offsets[key] = self._lengths.get(name, 0)
            self._lengths[name] = self._offsets[key] + flat.size
            self._values.setdefault(name, []).append(flat)
        return {"type": name, "shape": list(array.shape), "at": self._offsets[key]}

    def members(self) -> dict[str, bytes]:
        """Return the files of the zip that hold values."""
        files = {}
        for name, pieces in self._values.items():
            values = np.concatenate(pieces)
            if name == "string":
                files["string.json"] = json.dumps(values.tolist(), ensure_ascii=False).encode()
            else:
                buffer = io.BytesIO()
                np.save(buffer, to_storable(values), allow_pickle=False)
                files[f"{name}.npy"] = buffer.getvalue()
        return files


def members(cases: Iterable[Case], version: str) -> dict[str, bytes]:
    """Return the files in the zip: their names and bytes."""
    pools = Pools()
    records = [_record(case, pools) for case in cases]
    index = {"format": FORMAT, "version": version, "cases": records}
    lines = json.dumps(index, ensure_ascii=False, separators=(",", ":")).replace('{"id"', '\n{"id"')
    return {INDEX: lines.encode(), **pools.members()}


def save(path: Path, files: dict[str, bytes]) -> None:
    """Write the zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED, 9)


def load(file: IO[bytes]) -> tuple[str, list[Case]]:
    """Return the version of the corpus, and its cases."""
    with zipfile.ZipFile(file) as archive:
        index = json.loads(archive.read(INDEX))
        if index["format"] != FORMAT:
            raise ValueError(f"the corpus has format {index['format']}; this reads format {FORMAT}")
        pools = {
            name.partition(".")[0]: _pool(name, archive.read(name)) for name in archive.namelist() if name != INDEX
        }
    return index["version"], [_case(record, pools) for record in index["cases"]]


def _pool(member: str, content: bytes) -> np.ndarray:
    name = member.partition(".")[0]
    if name == "string":
        texts = json.loads(content)
        values = np.empty(len(texts), object)
        values[:] = texts
        return values
    values = np.load(io.BytesIO(content), allow_pickle=False)
    return np.asarray(values).view(dtype_of(name))


def _record(case: Case, pools: Pools) -> dict[str, Any]:
    return {
        "id": case.id,
        "op": case.op,
        "type": case.type,
        "reduction": case.reduction,
        "kind": case.kind,
        "inputs": [pools.add(array) for array in case.inputs],
        "attributes": case.attributes,
        "expected": None if case.expected is None else [pools.add(array) for array in case.expected],
        "error": case.error,
        "rules": list(case.rules),
        "latitude": case.latitude,
        "relation": case.relation,
    }


def _case(record: dict[str, Any], pools: dict[str, np.ndarray]) -> Case:
    expected = record["expected"]
    arrays = {
        "inputs": tuple(_array(entry, pools) for entry in record["inputs"]),
        "expected": None if expected is None else tuple(_array(entry, pools) for entry in expected),
        "rules": tuple(record["rules"]),
    }
    return Case(**record | arrays)


def _array(entry: dict[str, Any] | None, pools: dict[str, np.ndarray]) -> np.ndarray | None:
    if entry is None:
        return None
    shape, at = tuple(entry["shape"]), entry["at"]
    size = int(np.prod(shape, dtype=np.int64))
    return pools[entry["type"]][at : at + size].reshape(shape).copy()
