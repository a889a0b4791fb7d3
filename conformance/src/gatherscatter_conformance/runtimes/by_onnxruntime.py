"""ONNX Runtime on the CPU, with its own operators and with this package's."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.specs import DOMAIN, OWN_OPERATORS, element_type
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, fed_inputs, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, row_of

_PLAIN = "got = session.run(None, feeds)[0]\n"

# For types that NumPy lacks, ONNX Runtime exchanges bits, for some types with two elements in a byte.
_BITS = """\
raw = {{name: numpy_helper.from_array(array).raw_data.ljust(array.nbytes, b"\\0") for name, array in feeds.items()}}
bits = {{name: np.frombuffer(raw[name], f"u{{array.itemsize}}").reshape(array.shape) for name, array in feeds.items()}}
values = {{name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits[name], element[name]) for name in feeds}}
output = session.run_with_ort_values(None, values)[0]
made = numpy_helper.from_array(np.zeros(output.shape(), {data}.dtype))
made.raw_data = ctypes.string_at(output.data_ptr(), len(made.raw_data))
got = numpy_helper.to_array(made)
"""
_ATTRIBUTES = {each.name for row in OWN_OPERATORS.values() for each in row.attributes}


class OnnxRuntime(Runtime):
    """A session with the default number of threads."""

    name: ClassVar[str] = "onnxruntime"
    title: ClassVar[str] = "ONNX Runtime, default threads"
    package: ClassVar[str] = "onnxruntime"
    modules: ClassVar[tuple[str, ...]] = ("onnxruntime", "onnx")
    setup: ClassVar[str] = f"import ctypes, onnxruntime\n{IMPORTS}"
    _options: ClassVar[str] = "options = onnxruntime.SessionOptions()\n"

    def source(self, case: Case) -> str:
        """A session of one node."""
        session = (
            "session = onnxruntime.InferenceSession("
            'model.SerializeToString(), options, providers=["CPUExecutionProvider"])\n'
        )
        return self.model(case) + self._options + session + _run(case)

    def model(self, case: Case) -> str:
        """Lines that build ``model`` and ``feeds``."""
        return model_source(case)


class OnnxRuntimeOneThread(OnnxRuntime):
    """A session with one thread."""

    name: ClassVar[str] = "onnxruntime-1-thread"
    title: ClassVar[str] = "ONNX Runtime, one thread"
    _options: ClassVar[str] = OnnxRuntime._options + "options.intra_op_num_threads = 1\n"


class OnnxRuntimeWithOurs(OnnxRuntime):
    """A session with this package's library. The node is in its domain."""

    name: ClassVar[str] = "gatherscatter-onnxruntime"
    title: ClassVar[str] = "ONNX Runtime with gatherscatter's operators"
    modules: ClassVar[tuple[str, ...]] = (*OnnxRuntime.modules, "gatherscatter")
    setup: ClassVar[str] = f"import ctypes, onnxruntime, gatherscatter.system.native_library as native\n{IMPORTS}"
    _options: ClassVar[str] = OnnxRuntime._options + "options.register_custom_ops_library(str(native.library_path()))\n"

    def model(self, case: Case) -> str:
        """Return lines for a node of the domain ``gatherscatter``, with the version of ONNX's operator."""
        if row_of(case).kernel == "gather_quantized":
            raise NotAskedError("its GatherQuantized has fewer rules than the op version")
        if any(name.startswith("complex") for name in _types(case)):
            raise NotAskedError("it has no tensors of complex numbers")
        if "float8_e8m0fnu" in _types(case):
            raise NotAskedError("its custom operators take no float8_e8m0fnu")
        if case.attributes.keys() - _ATTRIBUTES:
            raise NotAskedError("its custom operators can't detect unknown attributes")
        return model_source(case, domain=DOMAIN)


def _types(case: Case) -> set[str]:
    return {element_type(array.dtype) for array in case.inputs if array is not None}


def _run(case: Case) -> str:
    exchanged = [*fed_inputs(case).values(), *(case.expected or ())]
    if all(array.dtype.isbuiltin != 2 for array in exchanged):
        return _PLAIN
    if "string" in _types(case):
        raise NotAskedError("its Python API can't mix strings with arrays of bits")
    return _BITS.format(data=row_of(case).typing_input.name)
