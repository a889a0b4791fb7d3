"""Complete random cases, from choices to verdict. Hypothesis shrinks them, and the fuzzer runs millions of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gatherscatter import oracle
from gatherscatter.operation import SCATTERS
from gatherscatter_conformance import random_calls
from gatherscatter_conformance.random_calls import Traits
from gatherscatter_conformance.random_source import Choices
from tests.support import judge

# Layouts for out=. The other layouts cannot be written to, or not in place.
OUT_LAYOUTS = ("C", "F", "steps", "reversed", "unaligned")
THREADS = (None, 1, 2, 3)


def version(c: Choices, row: oracle.OracleRow) -> None:
    judge.check_version(row.name, *random_calls.version_call(c, row))


def array_call(c: Choices, kernel: str) -> None:
    judge.check_array_call(kernel, random_calls.array_call(c, kernel), c.pick(THREADS))


def tensor_scatter(c: Choices, mode: str) -> None:
    element = c.pick(random_calls.representations((*oracle.T16, "uint4")))
    traits = Traits("tensor_scatter", element, c.pick(oracle.INTEGERS), mode=mode)
    judge.check_tensor_scatter(random_calls.kernel_call(c, traits), mode)


def gather_reduce(c: Choices, many: bool) -> None:
    judge.check_gather_reduce(random_calls.bags_call(c, many), c.pick(THREADS))


def into_out(c: Choices, kernel: str) -> None:
    call = random_calls.array_call(c, kernel, random_calls.FIXED)
    judge.check_out(kernel, call, c.pick(OUT_LAYOUTS), c.pick(THREADS))


def in_place(c: Choices, kernel: str) -> None:
    judge.check_in_place(kernel, random_calls.array_call(c, kernel, random_calls.FIXED), c.pick(THREADS))


def prepared(c: Choices, kernel: str) -> None:
    judge.check_prepared(kernel, random_calls.array_call(c, kernel, random_calls.FIXED), c.pick(THREADS))


def many(c: Choices, kernel: str) -> None:
    """Use more indices than blocks, spans and parcels hold, in some order, in every way to call."""
    call, threads = random_calls.array_call(c, kernel, random_calls.FIXED, many=True), c.pick(THREADS)
    scatter = kernel in SCATTERS
    ways = [
        lambda: judge.check_array_call(kernel, call, threads),
        lambda: judge.check_out(kernel, call, c.pick(OUT_LAYOUTS), threads),
        *([lambda: judge.check_in_place(kernel, call, threads)] if scatter else []),
        *([] if kernel.endswith("_elements") else [lambda: judge.check_prepared(kernel, call, threads)]),
    ]
    c.pick(ways)()


CASES: dict[str, Callable[[Choices], None]] = {
    **{f"version {row.name}": partial(version, row=row) for row in oracle.ROWS.values()},
    **{f"array {kernel}": partial(array_call, kernel=kernel) for kernel in random_calls.ARRAY_KERNELS},
    **{f"tensor_scatter {mode}": partial(tensor_scatter, mode=mode) for mode in ("linear", "circular")},
    "gather_reduce": partial(gather_reduce, many=False),
    "gather_reduce of many": partial(gather_reduce, many=True),
    **{f"out {kernel}": partial(into_out, kernel=kernel) for kernel in random_calls.ARRAY_KERNELS},
    **{
        f"in place {kernel}": partial(in_place, kernel=kernel)
        for kernel in random_calls.ARRAY_KERNELS
        if "scatter" in kernel
    },
    **{
        f"prepared {kernel}": partial(prepared, kernel=kernel)
        for kernel in ("gather", "gather_nd", "scatter_update", "scatter_nd")
    },
    **{f"many {kernel}": partial(many, kernel=kernel) for kernel in random_calls.ARRAY_KERNELS},
}
