"""Zarr: With repeated indices, the last value does not always remain."""

import sys

import numpy as np
import zarr

TEXT = (
    "NumPy, Indexing on ndarrays (Zarr's text says nothing on this): For advanced assignments, there is in "
    "general no guarantee for the iteration order. This means that if an element is set more than once, it is not"
    " possible to predict the final result."
)
points = ([1, 7, 7, 23, 0], [2, 9, 9, 29, 15])
values = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
array = np.zeros((24, 30))
array[points] = values
stored = zarr.create_array(store={}, shape=(24, 30), chunks=(6, 10), dtype="float64")
stored.vindex[points] = values

expected = f"{array[7, 9]} at [7, 9] as in NumPy: the last of the two values for this element"
observed = stored[7, 9]
departs = bool(observed != array[7, 9])

print("release  ", "zarr", zarr.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
