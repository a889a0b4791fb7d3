"""Who takes part: one file per library; a library that is not installed is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec

from gatherscatter.bench.contenders.contender import Contender

OURS = "gatherscatter"

# name: modules it needs, file with its class or factory
_PEERS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "numpy": (("numpy",), "by_numpy", "Numpy"),
    "torch": (("torch",), "by_torch", "Torch"),
    "jax": (("jax",), "by_jax", "Jax"),
    "onnxruntime": (("onnxruntime", "onnx"), "by_onnxruntime", "OnnxRuntime"),
    "onnxruntime-1": (("onnxruntime", "onnx"), "by_onnxruntime", "OnnxRuntimeOneThread"),
    "openvino": (("openvino",), "by_openvino", "OpenVino"),
}
PEERS = tuple(_PEERS)


def contenders(peers: Sequence[str] | None, threads: int) -> list[Contender]:
    """Ours, ours on one thread, and the peers: those named, else all that are installed.

    Raises
    ------
    ValueError
        A name is no peer's.
    ImportError
        A peer that was named is not installed.
    """
    from gatherscatter.bench.contenders.ours import Ours

    for name in peers or ():
        if name not in _PEERS:
            raise ValueError(f"{name!r} is no peer: choose from {', '.join(_PEERS)}")
        missing = [module for module in _PEERS[name][0] if find_spec(module) is None]
        if missing:
            raise ImportError(f"peer {name} needs {' and '.join(missing)}: pip install {' '.join(missing)}")
    chosen = list(_PEERS) if peers is None else list(peers)
    present = [name for name in chosen if all(find_spec(module) for module in _PEERS[name][0])]
    mine: list[Contender] = [Ours(threads)]
    if threads > 1:
        mine.append(Ours(1, name=f"{OURS}-1"))
    return mine + [_make(name)(threads) for name in present]


def _make(name: str) -> Callable[[int], Contender]:
    _, file, factory = _PEERS[name]
    made: Callable[[int], Contender] = getattr(import_module(f"{__name__}.{file}"), factory)
    return made
