"""The operators of ONNX Runtime's domain com.microsoft: ``GatherBlockQuantized(data, indices, scales, zero_points)``.

The operators need NumPy only.

>>> import numpy as np, gatherscatter as gs
>>> data, scales = np.array([[0x98, 0xBA] * 4], np.uint8), np.array([[0.5]], np.float32)
>>> gs.microsoft.GatherBlockQuantized(data, np.array([0]), scales, block_size=16)
array([[0. , 0.5, 1. , 1.5, 0. , 0.5, 1. , 1.5, 0. , 0.5, 1. , 1.5, 0. ,
        0.5, 1. , 1.5]], dtype=float32)
"""

from gatherscatter.specs.calls import make_domain_functions

_functions = make_domain_functions("com.microsoft")
globals().update(_functions)
__all__ = list(_functions)
