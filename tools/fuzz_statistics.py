#!/usr/bin/env python3
"""Compare random calls of `aggregate` with definitions in fractions.

    python tools/fuzz_statistics.py --seconds 3600

Each call has its own seed, which is printed if the call fails; ``--seed`` starts with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.functions.test_aggregate import CHECKED, CUMULATIVE, TYPES, check, check_running, draw

LABEL_TYPES = ("int8", "uint16", "int32", "int64", "uint64")
LONGEST = (20, 400, 3000)


def draw_labels(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return labels at random, sorted, all equal or in runs of 300, and the number of groups."""
    groups = int(rng.integers(1, 30))
    labels = rng.integers(0, groups, int(rng.integers(0, rng.choice(LONGEST)))).astype(rng.choice(LABEL_TYPES))
    match rng.integers(4):
        case 0:
            labels.sort()
        case 1:
            labels[:] = labels[:1]
        case 2:
            labels = np.repeat(labels[: len(labels) // 300 + 1], 300)[: len(labels)]
    return labels, groups


def check_call(seed: int) -> None:
    """Check the call of a seed."""
    rng = np.random.default_rng(seed)
    labels, groups = draw_labels(rng)
    values = draw(rng, str(rng.choice(TYPES)), len(labels), bool(rng.integers(2)))
    name = str(rng.choice([*CHECKED, *CUMULATIVE]))
    if name in CUMULATIVE:
        check_running(name, labels, values, groups)
    elif name.removeprefix("nan") in ("var", "std"):
        check(name, labels, values, groups, ddof=int(rng.integers(3)))
    else:
        check(name, labels, values, groups)


def main() -> int:
    """Return 1 if a call failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    options = parser.parse_args()
    end, seed, failed = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        try:
            check_call(seed)
        except Exception as error:
            failed += 1
            print(f"--seed {seed}: {error!r}", flush=True)
        seed += 1
    print(f"{seed - options.seed} calls, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
