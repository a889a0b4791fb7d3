"""Some blocks at a time, in threads: while one waits for the store, another is worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def in_threads(make: Callable[[Given], Made], things: Iterable[Given], workers: int) -> Generator[Made]:
    """What ``make`` makes of things, in their order; no more than ``workers`` of them are under way at a time.

    Also one worker is a thread: Ctrl-C reaches the caller's, and this waits until what is being written is written.

    >>> list(in_threads(abs, [-3, 2, -1], workers=2))
    [3, 2, 1]
    """
    under_way: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for thing in things:
                if len(under_way) == workers:
                    yield under_way.popleft().result()
                under_way.append(pool.submit(make, thing))
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
