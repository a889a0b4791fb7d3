"""The runtimes that can be tested: one file for each library."""

from __future__ import annotations

import os
import sys

from gatherscatter.system.lazy_modules import load_place
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime

__all__ = ["NAMES", "NotAskedError", "Runtime", "find", "installed"]

# by name: the class, whose module is imported when the runtime is first needed
_CLASSES = {
    "gatherscatter": ".ours:Arrays",
    "gatherscatter-model": ".ours:Models",
    "gatherscatter-onnxruntime": ".by_onnxruntime:OnnxRuntimeWithOurs",
    "onnxruntime": ".by_onnxruntime:OnnxRuntime",
    "onnxruntime-1-thread": ".by_onnxruntime:OnnxRuntimeOneThread",
    "onnx-reference": ".by_onnx_reference:OnnxReference",
    "openvino": ".by_openvino:OpenVino",
    "openvino-evaluate": ".by_openvino:OpenVinoEvaluate",
    "openvino-onnx": ".by_openvino:OpenVinoOnnx",
    "tract": ".by_tract:Tract",
    "onnx2torch": ".by_onnx2torch:Onnx2Torch",
    "numpy": ".by_numpy:Numpy",
    "pytorch": ".by_pytorch:PyTorch",
    "jax": ".by_jax:Jax",
    "jax-x64": ".by_jax:Jax64",
    "stablehlo": ".by_stablehlo:StableHlo",
    "tensorflow": ".by_tensorflow:TensorFlow",
}
NAMES = tuple(_CLASSES)
"""The names of all built-in runtimes."""

_FACTS = ("name", "title", "package", "modules", "setup")


def find(name: str) -> Runtime:
    """Return the runtime with a name, your own class as ``module:Class``, or a program as ``command:./mine {folder}``.

    >>> from gatherscatter_conformance import runtimes
    >>> runtimes.find("numpy").title
    'NumPy recipes'

    Raises
    ------
    LookupError
        There is no such runtime, class or program.
    ImportError
        There is no such module.
    """
    kind, _, text = name.partition(":")
    if name in NAMES:
        made: Runtime = load_place(_CLASSES[name], __name__)()
        return made
    if kind == "command":
        from gatherscatter_conformance.runtimes.by_command import Command

        return Command(text)
    if not text:
        own = "for your own, give module:Class or 'command:./mine {folder}'"
        raise LookupError(f"there is no runtime {name!r}; there are {', '.join(NAMES)}; {own}")
    return _load_class(kind, text)()


def installed() -> list[str]:
    """Return the names of the runtimes whose packages are installed."""
    return [name for name in NAMES if not find(name).missing()]


def _load_class(module: str, name: str) -> type[Runtime]:
    """Load a class of the user. Its module may be in the working directory, as for ``python -m``."""
    folder = os.getcwd()
    if not {"", folder} & set(sys.path):
        sys.path.insert(0, folder)
    try:
        found = load_place(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but imports a missing one
        text = f"there is no module {module!r} in {folder} or on Python's path"
        raise ModuleNotFoundError(f"{text}: start in the folder of {module}.py, or set PYTHONPATH") from error
    own = [key for key, value in vars(found).items() if _is_runtime(value) and value.__module__ == module]
    if not hasattr(found, name):
        others = f"; it has {', '.join(own)}" if own else f": write class {name}(Runtime) there"
        raise LookupError(f"module {module!r} ({found.__file__}) has no class {name!r}{others}")
    made: type[Runtime] = getattr(found, name)
    if not _is_runtime(made):
        text = f"{module}:{name} is not a subclass of gatherscatter_conformance.runtimes.Runtime"
        raise LookupError(f"{text}: write class {name}(Runtime)")
    if lacking := [fact for fact in _FACTS if not hasattr(made, fact)]:
        raise LookupError(
            f"{module}:{name} lacks {', '.join(lacking)}: set them in the class, as text or a tuple of texts"
        )
    return made


def _is_runtime(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Runtime) and value is not Runtime
