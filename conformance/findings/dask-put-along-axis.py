"""Dask: np.put_along_axis, np.put, np.place and np.putmask do not change a Dask array."""

import sys
import warnings

import dask
import dask.array as da
import numpy as np

TEXT = "NumPy, put_along_axis: Put values into the destination array by matching 1d index and data slices."
array = da.zeros(4, chunks=2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    np.put_along_axis(array, np.array([1]), 5, 0)
    result = array.compute()

expected = "[0. 5. 0. 0.], or an error"
observed = f"{result}, and {len(caught)} warning: {caught[0].message if caught else ''}"
departs = not result.any()

print("release  ", "dask", dask.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
