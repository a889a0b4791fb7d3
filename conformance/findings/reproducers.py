"""The reproducer of each finding: a script that needs only its runtime, NumPy and, for ONNX models, onnx.

Scripts are generated from the calls in ``calls.toml`` and from the texts in ``findings.toml``.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gatherscatter_models.findings.catalog import RUNTIMES, Finding, load

Call = Mapping[str, Any]  # a table of calls.toml, which explains the keys
SECONDS = 20  # time limit of a process, for a call that may end or stop its process
_PACKAGES = {"onnx-reference": "onnx", "pytorch": "torch"}  # names of packages that differ from the runtime's
_IMPORTS = {  # by the name that a script uses
    "ctypes": "import ctypes",
    "signal": "import signal",
    "subprocess": "import subprocess",
    "sys": "import sys\n",
    "dask": "import dask",
    "da": "import dask.array as da",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
    "onnx.parser": "import onnx.parser",
    "onnxruntime": "import onnxruntime",
    "openvino": "import openvino",
    "torch": "import torch",
    "zarr": "import zarr",
    "ReferenceEvaluator": "from onnx.reference import ReferenceEvaluator",
    "ops": "from openvino import opset{opset} as ops",
}
_SCRIPT = '''\
"""{title}."""

{imports}

{constants}


def call():
{call}


def show(observed):
    print("release  ", "{package}", {module}.__version__)
    print("text     ", TEXT)
    print("expected ", EXPECTED)
    print("observed ", observed)


{processes}try:
    result = call()
    observed, departs = {show}, {departs}
except Exception as error:
    observed, departs = f"{{type(error).__name__}}: {{' '.join(str(error).split())[:1000]}}", {error_departs}
show(observed)
sys.exit(0 if departs else {otherwise})
'''
_PROCESSES = """\
if len(sys.argv) == 1:  # the call may end or stop its process
    for number in range(1, {processes} + 1):
        try:
            command = [sys.executable, __file__, "call"]
            process = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout={seconds})
        except subprocess.TimeoutExpired:
            show("no answer within {seconds} s")
            sys.exit(0)
        if process.returncode < 0:
            show(f"process {{number}} of {processes} ends with {{signal.Signals(-process.returncode).name}}")
            sys.exit(0)
    print(process.stdout, end="")
    sys.exit(process.returncode)
"""
_MODEL = '''MODEL = """<ir_version: 10, opset_import: ["": {opset}{domain}]>\n    g {model}"""'''
_EVALUATOR = "evaluator = ReferenceEvaluator(onnx.parser.parse_model(MODEL))"
_SESSION = """\
onnxruntime.set_default_logger_severity(4)  # the error is printed below
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = {threads}  # 0: as many as there are cores
session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString(), options)"""
_IMPORTED = """\
model = openvino.Core().read_model(onnx.parser.parse_model(MODEL).SerializeToString())
compiled = openvino.compile_model(model, "CPU")"""
_COMPILED = """\
tensors = [openvino.Tensor(array) for array in inputs.values()]
parameters = [ops.parameter({shape}, tensor.element_type) for tensor in tensors]
{names} = parameters
outputs = {outputs}
model = openvino.Model(outputs, parameters)
compiled = openvino.compile_model(model, "CPU", {{"INFERENCE_PRECISION_HINT": "f32"{threads}}})"""
_TIMES = """\
results = []
for _ in range({times}):
    result = {result}
    if result not in results:
        results.append(result)
    if len(results) == 2:
        break
return results"""
_ONNX = {  # how each runtime prepares and runs a model
    "onnx-reference": (_EVALUATOR, "evaluator.run(None, inputs)[0].tolist()"),
    "onnxruntime": (_SESSION, "session.run(None, inputs)[0].tolist()"),
    "openvino": (_IMPORTED, "compiled(inputs)[0].tolist()"),
}


@functools.cache
def scripts() -> Mapping[str, str]:
    """Return the scripts of all findings that the project has observed itself, by the findings' ids."""
    findings = {finding.id: finding for finding in load()}
    return {id: make_script(findings[id], call) for id, call in sorted(calls().items())}


def calls() -> dict[str, Call]:
    """Return the calls of ``calls.toml``, by the findings' ids."""
    return tomllib.loads(Path(__file__).with_name("calls.toml").read_text(encoding="utf-8"))


def run(script: str, folder: str | Path, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder.

    Raises
    ------
    subprocess.TimeoutExpired
        The script did not end within ``seconds``.
    """
    file = Path(folder, "reproducer.py")
    file.write_text(script, encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(file)]
    # Core files are written to the working directory.
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=folder, env=environment)


def make_script(finding: Finding, call: Call) -> str:
    """Return the script of a call."""
    expected = f"an error: {call['error']}" if "error" in call else call.get("expected", call.get("result"))
    package = _PACKAGES.get(finding.runtime, finding.runtime)
    script = _SCRIPT.format(
        title=f"{RUNTIMES[finding.runtime]}: {finding.title}",
        imports="{imports}",
        constants="\n".join(_constants(f"{finding.source}: {finding.text}", expected, call)),
        call=textwrap.indent("\n".join(_statements(finding.runtime, call)), "    "),
        package=package,
        module="np" if package == "numpy" else package,
        processes=_PROCESSES.format(**call, seconds=SECONDS) if "processes" in call else "",
        show=call.get("show", "result"),
        departs="True" if "error" in call else call.get("departs", f"result != {call.get('result')}"),
        error_departs="result" in call or "error" not in expected,
        otherwise=4 if call.get("varies") else 3,
    )
    used = [line for name, line in _IMPORTS.items() if re.search(rf"\b{name}\b", script)]
    return script.replace("{imports}", "\n".join(used).format(opset=call.get("opset", 15)), 1)


def _constants(text: str, expected: str, call: Call) -> Iterator[str]:
    yield f"TEXT = {json.dumps(text, ensure_ascii=False)}"
    yield f"EXPECTED = {json.dumps(expected, ensure_ascii=False)}"
    if "model" in call:
        yield _MODEL.format(**call, domain=', "com.microsoft": 1' if "com.microsoft" in call["model"] else "")


def _statements(runtime: str, call: Call) -> Iterator[str]:
    """Yield the statements that return the result of a call."""
    if "prepare" in call:
        yield call["prepare"].strip()
    if "inputs" in call:
        yield "\n".join(("inputs = {", *(f'    "{name}": {value},' for name, value in call["inputs"].items()), "}"))
    if "model" in call:
        prepared, result = _ONNX[runtime]
        yield prepared.format(threads=call.get("threads", 0))
        result = call.get("call", result)
    elif "inputs" in call:
        yield _compiled(call)
        several = call["call"].startswith("[")
        result = (
            "[array.tolist() for array in compiled(tensors).values()]" if several else "compiled(tensors)[0].tolist()"
        )
    else:
        result = call["call"]
    yield _TIMES.format(times=call["times"], result=result) if "times" in call else f"return {result}"


def _compiled(call: Call) -> str:
    """Return the statements that compile a model of OpenVINO operators."""
    return _COMPILED.format(
        shape="[-1] * len(tensor.shape)" if call.get("dynamic") else "tensor.shape",
        names=", ".join(call["inputs"]),
        outputs=call["call"],
        threads=f', "INFERENCE_NUM_THREADS": {call["threads"]}' if "threads" in call else "",
    )
