"""Confirmed departures of runtimes from the specifications: the table ``findings.toml`` and its types.

The table is the only source for these facts. docs/findings.md is generated from it. ``gatherscatter doctor``,
``explain`` and ``InferenceSession`` derive their verdicts from it. Each finding that we reproduced has a script with
its id as name in the folder ``findings`` of the repository.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

# When a departure occurs, judged by a node's types, attributes, shapes and index values.
CONDITIONS = {
    "always": "this operator, type and reduction",
    "repeated": "two indices name the same position of data (-1 and size-1 are the same position)",
    "negative": "an index in [-size, -1]",
    "out of range": "an index outside the range of the op version",
    "too negative": "the low 32 bits of an index, as a signed number, are below -size",
    "wide values": "64-bit data, updates or their sums have a value that does not fit 32 bits, and the result shows it",
    "wide indices": "an index that does not fit 32 bits",
    "empty indices": "there are no indices or index tuples, and no batch dimension is 0",
    "empty result": "indices have elements, but the result has none",
    "k=0": "the last dimension of indices is 0, there is at least one index tuple, and data has elements",
    "empty slice": "an index is out of range, and the slices of data are empty",
    "empty axis": "data has size 0 on an indexed axis, and there is an index",
    "nan": "data or updates contain a NaN",
    "infinite extreme": "the maximum of the updates alone is minus infinity, or the minimum is infinity",
    "signed order": "a minimum or maximum of unsigned integers that changes if they are compared as signed",
    "bfloat16 rounding": "a sum or product of bfloat16 is rounded up from a number whose last bit is 0",
    "non-integral mean": "a mean of integers that is negative and not an integer",
    "overflowing mean": "a mean of integers whose sum does not fit their type",
    "long axis": "data has size 64 or more on the indexed axis",
    "shorter indices": "indices are smaller than data in a dimension other than the axis",
    "longer indices": "indices are larger than data in a dimension other than the axis",
    "longer along axis": "indices are larger than data along the axis",
    "scalar indices": "indices have rank 0",
    "narrow index type": "the size of the axis does not fit the type of indices",
    "8-bit indices": "the type of indices is int8 or uint8",
    "computed indices": "indices are not a constant of the model",
    "updates shape": "updates do not have the shape that the specification requires",
    "batch dims differ": "the batch dimensions of data and indices are not equal",
    "negative batch dims": "batch_dims is -2 or less",
    "low batch dims": "batch_dims is below minus the rank of data or of indices",
    "all batch dims": "batch_dims is the rank of data, and the last dimension of indices is 0",
    "empty batch": "a batch dimension is 0",
    "slices": "there are indices, and each names more than one element of data",
    "divisible": "a scatter has two or more index tuples, or two or more lanes",
    "several axes": "the input axis has more than one element",
    "unknown attribute": "the value of an attribute is not one that the op version lists",
    "extra attribute": "an attribute that the op version does not have",
    "index type": "the type of indices is not one that the op version lists",
    "element type": "the type of data or updates is not one that the op version lists",
    "malformed": "the op version does not allow the call: its specification excludes a type, rank, axis or size",
    "short sequence": "GatherTree: an entry of max_seq_len is 0 or less",
    "empty last bag": "the last bag has no indices",
    "no segments": "num_segments is 0",
    "no members": "num_segments is not 0, and there are no segment ids",
    "negative segment": "a segment id below 0",
    "no default row": "default_index is -1",
    "no zero points": "zero_points are not given",
    "partial block": "the length of the quantized axis is not a multiple of block_size",
    "inner quantized axis": "quantize_axis is not the last axis",
    "equal axes": "gather_axis and quantize_axis are the same axis",
    "empty table": "data has a dimension of length 0",
    "bfloat16 scales": "scales are bfloat16",
    "one dimension": "data has rank 1",
    "computed table": "data, scales or zero_points are not constants of the model",
}

# The effects, most severe first.
EFFECTS = {
    "out-of-bounds memory": "the call returns memory that belongs to no input, or overwrites such memory",
    "crash": "the process crashes, or the call does not end",
    "nondeterministic": "the result varies from run to run",
    "wrong result": "the result is not the one that the specification defines, and there is no error",
    "accepted": "a call that the specification forbids returns a result instead of raising an error",
    "refused": "a call that the specification allows raises an error",
    "unspecified": "not a departure: the specification leaves the result open, and runtimes differ",
}

# Names of runtimes and converters, by the values of ``runtime``.
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
    "webnn": "ONNX Runtime Web, WebNN",
    "qnn": "ONNX Runtime, QNN",
    "hip-ep": "ONNX Runtime, hip-ep for ROCm",
    "tvm": "TVM",
    "onnx-mlir": "onnx-mlir",
    "tract": "tract",
    "opencv": "OpenCV DNN",
    "burn": "Burn",
}

EVIDENCE = {
    "run": "reproduced by us: `python -m conformance.findings ID` shows it",
    "thread": "not run by us: according to the linked public thread",
}


@dataclass(frozen=True)
class Finding:
    """A departure of a runtime from a specification.

    Attributes
    ----------
    id : str
        A stable name. If ``evidence`` is ``"run"``, ``python -m conformance.findings ID`` shows it.
    runtime : str
        A key of `RUNTIMES`.
    releases : str
        The release in which it was seen. The default is the release of its runtime in the table ``releases``. For a
        thread: the release that it names, or "".
    namespace : str
        ``"onnx"``, ``"openvino"``, ``"com.microsoft"``, or ``""`` if the runtime has its own functions.
    ops : tuple of str
        Operator types of the namespace, or the names of functions.
    onnx_ops : tuple of str
        Operators of ONNX models that the runtime's importer converts to ``ops``, with the same outcome.
    versions : tuple of int
        Versions of ``ops``. Empty: all versions.
    types : tuple of str
        Element types of data. ``("*",)``: all types that the runtime accepts.
    except_types : tuple of str
        Element types of data that are not affected, if ``types`` are all.
    reductions : tuple of str
        Reductions by the names of this package (``"add"``, ``"mul"``, ... for OpenVINO's sum, prod). ``"*"``: all.
    condition : str
        When it occurs: a key of `CONDITIONS`.
    setting : str
        A further requirement, such as an option of the runtime. ``""``: it occurs with the defaults.
    elements, threads : int
        It occurs only with more elements than this, and with at least this number of threads. With 0 elements, the
        updates of a scatter or the indices of a gather must not be empty.
    effect : str
        The consequence: a key of `EFFECTS`.
    title, text, source, observed : str
        One line, the words of the specification, their source, and the behaviour that was seen instead.
    evidence, url : str
        A key of `EVIDENCE`, and the address of a public thread about it, or ``""``.
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
    """Return all findings, most severe first.

    >>> from gatherscatter_models.findings import catalog
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
