"""The C++ example is compiled, and runs with ONNX Runtime's library on a model that `convert` wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gatherscatter.system.native_library import library_path
from tests.support.command_line import succeed
from tests.support.paths import EXAMPLES, SUPPORT

onnxruntime = pytest.importorskip("onnxruntime")

EXAMPLE = EXAMPLES / "onnxruntime_cpp"
STAND_IN = SUPPORT / "onnxruntime_stand_in"
INSTALLED = ("/usr/include/onnxruntime", "/usr/local/include/onnxruntime")


def find_header() -> Path:
    """Find the folder of ONNX Runtime's header. GATHERSCATTER_ORT_INCLUDE can name it."""
    for folder in (os.environ.get("GATHERSCATTER_ORT_INCLUDE"), *INSTALLED):
        if folder and (Path(folder) / "onnxruntime_cxx_api.h").is_file():
            return Path(folder)
    pytest.skip("no header of ONNX Runtime is installed")


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """Link to ONNX Runtime's library in the wheel, under the name that programs search for."""
    found = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    if not found:
        pytest.skip("the onnxruntime package has no separate shared library")
    link = tmp_path / "libonnxruntime.so.1"
    link.symlink_to(found[-1])
    return link


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("c++")), reason="needs CMake and a compiler")
@pytest.mark.parametrize("header", ["own", "stand-in"])
def test_the_example_in_cpp_gives_the_right_sums(header: str, runtime: Path, tmp_path: Path) -> None:
    include = find_header() if header == "own" else STAND_IN
    settings = [f"-DONNXRUNTIME_INCLUDE={include}", f"-DONNXRUNTIME_LIBRARY={runtime}"]
    build = tmp_path / "build"
    for command in (["cmake", "-S", EXAMPLE, "-B", build, *settings], ["cmake", "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    fixed = tmp_path / "fixed.onnx"
    succeed("convert", EXAMPLE / "sums.onnx", "--for", "onnxruntime", "-o", fixed)
    done = subprocess.run(
        [build / "sums", fixed, library_path()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LD_LIBRARY_PATH": str(runtime.parent)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, message = done.stdout.splitlines()
    assert first == "right in 100 of 100 runs"
    assert "onnx.ScatterND-18: indices[5, 0] = 7 is out of range for axis 0 of data with size 4" in message
