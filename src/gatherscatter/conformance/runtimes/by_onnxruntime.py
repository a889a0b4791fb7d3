"""ONNX Runtime on the CPU."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.runtimes.onnx_model import IMPORTS, model_source
from gatherscatter.conformance.runtimes.runtime import NotAskedError, Runtime

_PLAIN = "got = session.run(None, feeds)[0]\n"

# Python's bfloat16 is none of ONNX Runtime's types: it takes and gives the bits.
_BITS = """\
feeds = {name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), element[name])
         if element[name] == 16 else onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
output = session.run_with_ort_values(None, feeds)[0]
bits = (ctypes.c_uint16 * int(np.prod(output.shape()))).from_address(output.data_ptr())
got = np.array(bits, np.uint16).reshape(output.shape()).view(ml_dtypes.bfloat16)
"""


class OnnxRuntime(Runtime):
    """A session with as many threads as it likes."""

    name: ClassVar[str] = "onnxruntime"
    title: ClassVar[str] = "ONNX Runtime, default threads"
    package: ClassVar[str] = "onnxruntime"
    modules: ClassVar[tuple[str, ...]] = ("onnxruntime", "onnx")
    setup: ClassVar[str] = f"import onnxruntime\n{IMPORTS}"
    _options: ClassVar[str] = "options = onnxruntime.SessionOptions()\n"

    def source(self, case: Case) -> str:
        """A session of one node."""
        session = (
            "session = onnxruntime.InferenceSession("
            'model.SerializeToString(), options, providers=["CPUExecutionProvider"])\n'
        )
        return model_source(case) + self._options + session + _run(case)


class OnnxRuntimeOneThread(OnnxRuntime):
    """A session with one thread."""

    name: ClassVar[str] = "onnxruntime-1-thread"
    title: ClassVar[str] = "ONNX Runtime, one thread"
    _options: ClassVar[str] = OnnxRuntime._options + "options.intra_op_num_threads = 1\n"


def _run(case: Case) -> str:
    types = {array.dtype.name for array in case.inputs if array is not None}
    if "bfloat16" not in types:
        return _PLAIN
    if "object" in types:
        raise NotAskedError("its Python API takes no strings beside bfloat16")
    return "import ctypes, ml_dtypes\n" + _BITS
