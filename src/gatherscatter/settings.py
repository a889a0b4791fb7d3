"""What holds for the whole process: threads, and memory kept for new results.

Functions of Python, so that they can be sent to other processes: ``client.run(gs.set_num_threads, 1)``.
"""

from __future__ import annotations

from gatherscatter import _core


def num_threads() -> int:
    """How many threads a large call uses where it is not told by ``num_threads=``; at first as many as there are cores
    that the process may use.

    >>> import gatherscatter as gs
    >>> gs.num_threads() >= 1
    True
    """
    return _core.num_threads()


def set_num_threads(n: int) -> None:
    """Set how many threads a large call uses, in all threads of this process. Results don't depend on it.

    Parameters
    ----------
    n : int
        At least 1; `ValueError` otherwise.

    >>> import gatherscatter as gs
    >>> gs.set_num_threads(gs.num_threads())
    """
    _core.set_num_threads(n)


def pool_limit() -> int:
    """How many bytes of former results are kept for new ones, which saves the system's work of fresh memory.

    >>> import gatherscatter as gs
    >>> gs.pool_size() <= gs.pool_limit()
    True
    """
    return _core.pool_limit()


def pool_size() -> int:
    """How many bytes of former results are kept at present."""
    return _core.pool_size()


def set_pool_limit(bytes: int) -> None:
    """Set how many bytes of former results are kept for new ones; 0 gives back all and keeps none.

    Parameters
    ----------
    bytes : int
        Not negative; `ValueError` otherwise.

    >>> import gatherscatter as gs
    >>> gs.set_pool_limit(gs.pool_limit())
    """
    _core.set_pool_limit(bytes)
