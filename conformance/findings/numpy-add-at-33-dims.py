"""NumPy: np.add.at crashes the process if the result has more than 32 dimensions."""

import signal
import subprocess
import sys

import numpy as np

TEXT = (
    "NumPy, numpy.ufunc.at: Performs unbuffered in place operation on operand 'a' for elements specified by 'indices'."
)


def call() -> None:
    """Add at indices of 33 dimensions. ``data[indices]`` also has 33, and NumPy allows 64."""
    data, indices = np.zeros(3), np.zeros((1,) * 33, np.int64)
    assert data[indices].ndim == 33
    np.add.at(data, indices, 1.0)
    print(data)


if len(sys.argv) > 1:
    call()
    sys.exit()
done = subprocess.run([sys.executable, __file__, "call"], capture_output=True, text=True)
departs = done.returncode < 0
expected = "[1. 0. 0.]"
observed = f"the process ends with {signal.Signals(-done.returncode).name}" if departs else done.stdout.strip()

print("release  ", "numpy", np.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
