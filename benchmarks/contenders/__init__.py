"""The contenders: one file per library. Libraries that are not installed are skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contenders.contender import Contender
from benchmarks.contenders.ours import Ours
from benchmarks.results import AGAIN, OURS, fewer_threads, name_on_threads
from gatherscatter.system.extras import check_installed, find_missing
from gatherscatter.system.lazy_modules import load_place

# by name: the class of a peer, and the modules that it needs
_PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "numpy": (".by_numpy:NumpyContender", ("numpy",)),
    "torch": (".by_torch:TorchContender", ("torch",)),
    "jax": (".by_jax:JaxContender", ("jax",)),
    "onnxruntime": (".by_onnxruntime:OnnxRuntimeContender", ("onnxruntime", "onnx")),
    "onnxruntime-1": (".by_onnxruntime:OnnxRuntimeOneThreadContender", ("onnxruntime", "onnx")),
    "openvino": (".by_openvino:OpenVinoContender", ("openvino",)),
    "numba": (".by_numba:NumbaContender", ("numba",)),
    "scipy": (".by_scipy:SciPyContender", ("scipy",)),
    "numpy-groupies": (".by_numpy_groupies:NumpyGroupiesContender", ("numpy_groupies",)),
    "pandas": (".by_pandas:PandasContender", ("pandas",)),
    "polars": (".by_polars:PolarsContender", ("polars",)),
    "flox": (".by_flox:FloxContender", ("flox",)),
    "pyarrow": (".by_pyarrow:PyArrowContender", ("pyarrow",)),
    "two-steps": (".ours:TwoSteps", (OURS,)),
    "convert-first": (".ours:ConvertFirst", (OURS,)),
}
PEERS = tuple(_PEERS)


def make_contenders(
    peers: Sequence[str] | None, threads: int, report: Callable[[str], None] = lambda text: None
) -> list[Contender]:
    """Return gatherscatter twice, gatherscatter on fewer threads, and the peers: those named, or all installed ones.

    ``report`` is called with the installed peers that cannot be imported.

    Raises
    ------
    ValueError
        A name is not the name of a peer.
    ImportError
        A peer that was named is not installed.
    """
    for name in peers or ():
        if name not in _PEERS:
            raise ValueError(f"{name!r} is not a peer. Choose from {', '.join(_PEERS)}")
        check_installed(f"peer {name}", _PEERS[name][1])
    mine: list[Contender] = [Ours(threads), Ours(threads, name=AGAIN)]
    mine += [Ours(count, name=name_on_threads(count)) for count in fewer_threads(threads)]
    if peers is not None:
        return mine + [_make(name, threads) for name in dict.fromkeys(peers)]
    for name, (_, modules) in _PEERS.items():
        if not find_missing(modules):
            try:
                mine.append(_make(name, threads))
            except ImportError as error:  # a library may refuse the version of another
                report(f"without {name}: {error}")
    return mine


def _make(name: str, threads: int) -> Contender:
    made: Contender = load_place(_PEERS[name][0], __name__)(threads)
    return made
