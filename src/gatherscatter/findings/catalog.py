"""Confirmed departures of runtimes from the specifications: the table ``findings.toml`` and its types.

The table is the only place for these facts: docs/findings.md is made from it, ``gatherscatter doctor``, ``explain`` and
``InferenceSession`` derive their verdicts from it, and each finding seen by us has a reproducer of its name in the
folder ``findings`` of the repository.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

# What a departure needs, to be judged by a node's types, attributes, shapes and index values.
CONDITIONS = {
    "always": "any call of these operators, types and reductions",
    "repeated": "two indices name one place of data (-1 and size-1 are one place)",
    "negative": "an index in [-size, -1]",
    "out of range": "an index beyond the range of the operator version",
    "too negative": "the low 32 bits of an index are below -size",
    "wide values": "64-bit data, updates or sums of them hold a value that 32 bits don't hold, and the result shows it",
    "wide indices": "an index that 32 bits don't hold",
    "empty indices": "the indices tensor has no elements, and the 0 is not the k of k=0 or a batch dimension",
    "empty result": "indices have elements, and the result has none",
    "k=0": "the last dimension of indices is 0, and there are tuples: each names all of data, which has elements",
    "empty slice": "an index is out of range where the slices of data are empty",
    "empty axis": "data has size 0 on an indexed axis, and there is an index",
    "nan": "data or updates hold a NaN",
    "infinite extreme": "the maximum of the updates alone is minus infinity, or the minimum is infinity",
    "signed order": "a minimum or maximum of unsigned integers that is another one if they are taken as signed",
    "bfloat16 rounding": "a sum or product of bfloat16 is rounded up from a number whose last bit is 0",
    "non-integral mean": "a mean of integers that is negative and not whole",
    "overflowing mean": "a mean of integers whose sum leaves their type",
    "long axis": "data has size 64 or more on the indexed axis",
    "shorter indices": "off the axis, indices are shorter than data",
    "longer indices": "off the axis, indices are longer than data",
    "longer along axis": "along the axis, indices are longer than data",
    "scalar indices": "indices have rank 0",
    "narrow index type": "the type of indices doesn't hold the size of the axis",
    "8-bit indices": "the type of indices is int8 or uint8",
    "computed indices": "indices are not a constant of the model",
    "updates shape": "updates have another shape than the text demands",
    "batch dims differ": "the batch dimensions of data and indices are not equal",
    "negative batch dims": "batch_dims is -2 or less",
    "low batch dims": "batch_dims is below minus the rank of data or of indices",
    "all batch dims": "batch_dims is the rank of data, and the last dimension of indices is 0",
    "empty batch": "a batch dimension is 0",
    "slices": "there are indices, and each names more than one element of data",
    "several axes": "the input axis has more than one element",
    "unknown attribute": "the value of an attribute is not one that the version lists",
    "extra attribute": "an attribute that the version doesn't have",
    "index type": "the type of the indices is not one that the version lists",
    "element type": "the type of data or updates is not one that the version lists",
    "malformed": "the version doesn't allow the call: a type, rank, axis or size that its text excludes",
    "short sequence": "GatherTree: an entry of max_seq_len is 0 or less",
    "empty last bag": "the last bag has no indices",
    "no segments": "num_segments is 0",
    "no members": "num_segments is not 0, and there are no segment ids",
    "negative segment": "a segment id below 0",
    "no default row": "default_index is -1",
}

# What happens, most severe first.
EFFECTS = {
    "out-of-bounds memory": "memory that belongs to no input is read into the result, or is written",
    "crash": "the process dies, or the call doesn't end",
    "nondeterministic": "the result differs from run to run",
    "wrong result": "another result than the specification's, without a word",
    "accepted": "a call that the specification forbids gives a result instead of an error",
    "refused": "a call that the specification allows is an error",
    "unspecified": "no departure: the specification leaves the result open, and runtimes differ",
}

# Runtimes and converters, by the names that ``runtime`` has.
RUNTIMES = {
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "onnx-reference": "ONNX reference evaluator",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "numpy": "NumPy",
    "dask": "Dask",
    "zarr": "Zarr",
    "onnxruntime-cuda": "ONNX Runtime, CUDA",
    "tensorrt": "TensorRT",
    "coreml": "Core ML",
    "tflite": "TensorFlow Lite",
    "directml": "ONNX Runtime, DirectML",
    "webgpu": "ONNX Runtime Web, WebGPU",
    "qnn": "ONNX Runtime, QNN",
    "tvm": "TVM",
    "onnx-mlir": "onnx-mlir",
    "opencv": "OpenCV DNN",
    "burn": "Burn",
}

EVIDENCE = {
    "run": "seen by us: `findings/<id>.py` shows it",
    "thread": "not run by us: as the linked public thread has it",
}


@dataclass(frozen=True)
class Finding:
    """A departure of a runtime from a specification.

    Attributes
    ----------
    id : str
        A stable name; where ``evidence`` is ``"run"``, that of the reproducer ``findings/<id>.py``.
    runtime : str
        A key of `RUNTIMES`.
    releases : str
        The release in which it was seen, by default that of its runtime in the table ``releases`` (for a thread: the
        one it names, or "").
    namespace : str
        ``"onnx"``, ``"openvino"``, or ``""`` where the runtime has functions of its own.
    ops : tuple of str
        Operator types of the namespace, or the names of functions.
    onnx_ops : tuple of str
        Operators of ONNX models that the runtime's importer turns into ``ops``, with the same outcome.
    versions : tuple of int
        Versions of ``ops``; empty: all of them.
    types : tuple of str
        Element types of data; ``("*",)``: all that the runtime takes.
    except_types : tuple of str
        Element types of data that the finding leaves out, where ``types`` are all.
    reductions : tuple of str
        Reductions by the names of this package (``"add"``, ``"mul"``, ... for OpenVINO's sum, prod); ``"*"``: all.
    condition : str
        When it occurs: a key of `CONDITIONS`.
    setting : str
        What else must be so, such as an option of the runtime; ``""``: its defaults suffice.
    elements, threads : int
        It occurs only with more elements than this (0 says that the updates of a scatter, or the indices of a gather,
        must not be empty), and only with at least this many threads.
    effect : str
        What happens: a key of `EFFECTS`.
    title, text, source, observed : str
        One line; what the specification says, and where; what was seen instead.
    evidence, url : str
        A key of `EVIDENCE`; a public thread about it, or ``""``.
    """

    id: str
    runtime: str
    releases: str
    namespace: str
    ops: tuple[str, ...]
    types: tuple[str, ...]
    reductions: tuple[str, ...]
    condition: str
    effect: str
    title: str
    text: str
    source: str
    observed: str
    evidence: str = "run"
    url: str = ""
    onnx_ops: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    except_types: tuple[str, ...] = ()
    setting: str = ""
    elements: int = -1
    threads: int = 1

    def __post_init__(self) -> None:
        keys = (self.runtime, RUNTIMES), (self.condition, CONDITIONS), (self.effect, EFFECTS), (self.evidence, EVIDENCE)
        for value, table in keys:
            if value not in table:
                raise ValueError(f"finding {self.id}: {value!r} is none of {', '.join(table)}")

    @property
    def severity(self) -> int:
        """The rank of the effect in `EFFECTS`: 1 is the most severe."""
        return list(EFFECTS).index(self.effect) + 1


@functools.cache
def load() -> tuple[Finding, ...]:
    """All findings, most severe first.

    >>> from gatherscatter.findings import catalog
    >>> race = next(finding for finding in catalog.load() if finding.id == "onnxruntime-scatternd-race")
    >>> race.runtime, race.ops, race.condition, race.effect
    ('onnxruntime', ('ScatterND',), 'repeated', 'nondeterministic')
    """
    return tuple(sorted(_rows(), key=lambda finding: finding.severity))


def _rows() -> Iterator[Finding]:
    table = tomllib.loads(resources.files(__package__).joinpath("findings.toml").read_text(encoding="utf-8"))
    for row in table["finding"]:
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        if "releases" not in row:
            values["releases"] = table["releases"][row["runtime"]]
        yield Finding(**values)
