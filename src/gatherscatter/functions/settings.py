"""Settings of the whole process: threads, and the pool of memory.

These are Python functions, so that they can be sent to other processes: ``client.run(gs.set_num_threads, 1)``.
"""

from __future__ import annotations

import operator
import sys

from gatherscatter import _core
from gatherscatter.errors import integer_fault, make_error, threads_fault
from gatherscatter.system.extras import require


def num_threads() -> int:
    """Return the number of threads that a large call uses by default.

    ``num_threads=`` overrides it for one call. At first it is the number of cores that the process may use.

    Returns
    -------
    int, at least 1

    >>> import gatherscatter as gs
    >>> gs.num_threads() >= 1
    True
    """
    return _core.num_threads()


def set_num_threads(n: int) -> None:
    """Set the number of threads that a large call uses by default, for the whole process.

    Results do not depend on it.

    Parameters
    ----------
    n : int >= 1

    Raises
    ------
    ValueError
        ``n`` is less than 1.
    TypeError
        ``n`` is not an integer.

    >>> import gatherscatter as gs
    >>> gs.set_num_threads(gs.num_threads())
    """
    number = _read_integer("set_num_threads", "n", n)
    if number < 1:
        threads_fault("set_num_threads", "n", n)
    _core.set_num_threads(number)


def pool_limit() -> int:
    """Return the limit of the pool in bytes.

    The pool keeps the memory of freed large results for new ones. This is faster than new memory from the system.

    >>> import gatherscatter as gs
    >>> gs.pool_size() <= gs.pool_limit()
    True
    """
    return _core.pool_limit()


def pool_size() -> int:
    """Return the number of bytes that the pool keeps now. See `pool_limit`.

    Returns
    -------
    int, at most `pool_limit`

    >>> import gatherscatter as gs
    >>> 0 <= gs.pool_size() <= gs.pool_limit()
    True
    """
    return _core.pool_size()


def set_pool_limit(bytes: int) -> None:
    """Set the limit of the pool: the number of bytes of freed results that are kept for new ones.

    Parameters
    ----------
    bytes : int >= 0
        With 0, the pool gives all memory back to the system and keeps none.

    Raises
    ------
    ValueError
        ``bytes`` is negative.
    TypeError
        ``bytes`` is not an integer.

    >>> import gatherscatter as gs
    >>> gs.set_pool_limit(gs.pool_limit())
    """
    limit = _read_integer("set_pool_limit", "bytes", bytes)
    if limit < 0:
        raise make_error("pool_limit", "set_pool_limit", value=bytes)
    _core.set_pool_limit(limit)


def _read_integer(function: str, name: str, value: object) -> int:
    try:
        return min(operator.index(value), sys.maxsize)  # type: ignore[arg-type]
    except TypeError:
        integer_fault(function, name, value)


def register_threadpoolctl() -> None:
    """Let threadpoolctl set the number of threads, as ``threadpool_limits(limits=1)`` does for other libraries.

    An import of gatherscatter does this if threadpoolctl was imported before. Call it if you import threadpoolctl
    later.

    Raises
    ------
    ImportError
        threadpoolctl 3.2 or newer is not installed.

    >>> import gatherscatter as gs
    >>> gs.register_threadpoolctl()
    >>> from threadpoolctl import threadpool_limits
    >>> with threadpool_limits(limits=1):
    ...     gs.num_threads()
    1
    """
    with require("threadpoolctl", text="register_threadpoolctl needs threadpoolctl", install="threadpoolctl"):
        import threadpoolctl  # type: ignore[import-untyped]

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "gatherscatter"
        internal_api = "gatherscatter"
        filename_prefixes = ("_core.",)
        check_symbols = ("gatherscatter_num_threads",)

        def get_num_threads(self) -> int:
            return _core.num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            _core.set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(Controller)
