"""The environments of the runtimes: one for all that can be installed together, and one for each of the others.

This module imports neither package, because they need not be installed.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "lab"

# The extras of each environment: those of gatherscatter, gatherscatter-models and gatherscatter-conformance. An
# environment is named after its only runtime. "main" is for all others.
EXTRAS = {
    "main": (("torch", "jax", "dask", "zarr"), ("openvino",), ("tract",)),
    "tensorflow": ((), (), ("tensorflow",)),  # each release is tied to releases of protobuf, numpy and ml_dtypes
    "onnx2torch": ((), (), ("onnx2torch",)),  # needs torchvision, which is tied to one release of torch
}
OTHERS = {"main": ("onnxscript",)}  # for reproducers about PyTorch's exporter


def interpreter_of(environment: str) -> Path:
    """Return the Python of an environment."""
    return FOLDER / environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def make_environments() -> dict[str, Path]:
    """Install our packages and missing runtimes, and return the interpreter of each environment."""
    wheels = [_build_wheel(ROOT / folder, folder or "library") for folder in ("", "models", "conformance")]
    for name, extras in EXTRAS.items():
        pip = [interpreter_of(name), "-m", "pip"]
        finished = FOLDER / name / "installed.txt"
        if finished.exists():
            subprocess.run([*pip, "install", "--quiet", "--force-reinstall", "--no-deps", *wheels], check=True)
            continue
        print(f"environment {name}: {', '.join(itertools.chain(*extras))}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / name], check=True)
        pairs = zip(wheels, extras, strict=True)
        with_extras = [f"{wheel}[{','.join(names)}]" if names else wheel for wheel, names in pairs]
        subprocess.run([*pip, "install", "--quiet", *with_extras, *OTHERS.get(name, ())], check=True)
        frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
        finished.write_text(frozen, encoding="utf-8")
    return {name: interpreter_of(name) for name in EXTRAS}


def _build_wheel(source: Path, name: str) -> Path:
    """Build the wheel of a package."""
    folder = FOLDER / "wheels" / name
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def run_to_end(command: list[str], folder: Path) -> int:
    """Run a command and return its exit code. After Ctrl-C, wait until it has written its results."""
    with subprocess.Popen(command, cwd=folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the command also gets it
                continue
