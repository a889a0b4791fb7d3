import numpy as np
from numpy.typing import ArrayLike

def GatherBlockQuantized(
    data: ArrayLike,
    indices: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    *,
    gather_axis: int = 0,
    quantize_axis: int = 1,
    block_size: int = 128,
    bits: int = 4,
    opset: int | None = None,
) -> np.ndarray: ...
