"""The library's declarations of ONNX Runtime's C interface, compared with a real header if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

HERE = Path(__file__).parent
OWN = os.environ.get("GATHERSCATTER_ORT_INCLUDE", "")
FOLDERS = (OWN, "/usr/include/onnxruntime", "/usr/local/include/onnxruntime")


def find_header() -> Path | None:
    """Find the folder of a real header: set GATHERSCATTER_ORT_INCLUDE, or install libonnxruntime-dev."""
    return next(
        (Path(folder) for folder in FOLDERS if folder and (Path(folder) / "onnxruntime_c_api.h").exists()), None
    )


def compile_declarations(ours: Path) -> subprocess.CompletedProcess[str]:
    compiler, header = shutil.which("c++"), find_header()
    if not compiler or not header:
        pytest.skip("needs a C++ compiler and a header of ONNX Runtime")
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-I", str(ours), "-I", str(header)]
    return subprocess.run([*command, str(HERE / "declarations.cpp")], capture_output=True, text=True, timeout=120)


def test_declarations_are_those_of_the_header() -> None:
    done = compile_declarations(ROOT / "cpp" / "onnxruntime")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("TensorInfo*, size_t* rank)", "TensorInfo*, int* rank)"),
        ("void* slots_1_to_25[25]", "void* slots_1_to_25[24]"),
        ("int64 = 7", "int64 = 6"),
        ("    void (*KernelDestroy)(void* kernel);\n", ""),
    ],
)
def test_a_wrong_declaration_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    text = (ROOT / "cpp" / "onnxruntime" / "ort_api.hpp").read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "ort_api.hpp").write_text(text.replace(right, wrong), encoding="utf-8")
    done = compile_declarations(tmp_path)
    assert done.returncode != 0
    assert "static assertion failed" in done.stderr or "no member" in done.stderr
