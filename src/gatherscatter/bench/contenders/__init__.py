"""The contenders: one file per library. Libraries that are not installed are skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gatherscatter.bench.contenders.contender import Contender
from gatherscatter.bench.contenders.ours import Ours
from gatherscatter.extras import check_installed, find_missing
from gatherscatter.lazy_modules import load

OURS = "gatherscatter"
AGAIN = f"{OURS}-again"  # the same again: differences between the two are noise

# by name: the modules that a peer needs
_PEERS: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "torch": ("torch",),
    "jax": ("jax",),
    "onnxruntime": ("onnxruntime", "onnx"),
    "onnxruntime-1": ("onnxruntime", "onnx"),
    "openvino": ("openvino",),
    "numba": ("numba",),
    "scipy": ("scipy",),
    "numpy-groupies": ("numpy_groupies",),
    "pyarrow": ("pyarrow",),
    "two-steps": (OURS,),
}
PEERS = tuple(_PEERS)


def name_on_threads(count: int) -> str:
    """Return the name of gatherscatter as a contender with another number of threads."""
    return f"{OURS}-{count}"


def fewer_threads(threads: int) -> list[int]:
    """Return the powers of two below a number of threads, for which the scaling is measured.

    >>> fewer_threads(16), fewer_threads(2), fewer_threads(1)
    ([1, 2, 4, 8], [1], [])
    """
    return [1 << power for power in range(threads.bit_length()) if 1 << power < threads]


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
        check_installed(f"peer {name}", _PEERS[name])
    mine: list[Contender] = [Ours(threads), Ours(threads, name=AGAIN)]
    mine += [Ours(count, name=name_on_threads(count)) for count in fewer_threads(threads)]
    if peers is not None:
        return mine + [_make(name, threads) for name in dict.fromkeys(peers)]
    for name, modules in _PEERS.items():
        if not find_missing(modules):
            try:
                mine.append(_make(name, threads))
            except ImportError as error:  # a library may refuse the version of another
                report(f"without {name}: {error}")
    return mine


def _make(name: str, threads: int) -> Contender:
    made: Contender = load(__name__, name)(threads)
    return made
