"""Damage thousands of model files. Each must end in a result or an error of one line, within limits of time and memory.

    python -m tools.fuzz_models --seconds 300
    python -m tools.fuzz_models --case 'onnx-branches 1234'      # repeat one case and print the damage
    python -m tools.fuzz_models --case 'ir-shapes 7' --keep DIR  # and keep its files

A case is a good model and a number. They determine the damage, so every case can be repeated. A separate process loads
each model and runs it on random inputs, so a crash, a hang or a lack of memory can be traced to one case. The doctor,
the converter and the planner of InferenceSession also read the file. A fault does not count if the model itself
requires the work (see `is_excused`).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools.fuzz_models.cases import Case
from tools.fuzz_models.models import MODELS
from tools.fuzz_models.running import fuzz, repeat


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=float, default=float("inf"), help="stop after this number of cases")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--case", type=Case.parse)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write the files of the case")
    given = parser.parse_args()
    stop = time.monotonic() + given.seconds
    if given.case:
        summary = repeat(given.case, given.keep)
    else:
        print(f"seed {given.seed}", flush=True)
        summary = fuzz(lambda done: done >= given.cases or time.monotonic() > stop, given.seed, given.models)
    print(summary)
    return 1 if summary.found else 0


if __name__ == "__main__":
    sys.exit(main())
