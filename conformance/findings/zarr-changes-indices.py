"""Zarr: Negative indices are replaced in the caller's array."""

import sys

import numpy as np
import zarr

TEXT = (
    "Zarr, Array.get_coordinate_selection (nothing says that it is written): selection: an integer (coordinate) "
    "array for each dimension of the array"
)
stored = zarr.create_array(store={}, shape=(8,), chunks=(4,), dtype="float64")
indices = np.array([-1, 2])
stored.vindex[indices]

expected = "the array of indices is unchanged: [-1  2]"
observed = indices
departs = indices.tolist() != [-1, 2]

print("release  ", "zarr", zarr.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
