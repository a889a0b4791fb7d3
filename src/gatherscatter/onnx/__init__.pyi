import numpy as np
from numpy.typing import ArrayLike

def Gather(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    axis: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def GatherElements(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    axis: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def GatherND(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    batch_dims: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def Scatter(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    axis: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def ScatterElements(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    axis: int = 0,
    reduction: str = "none",
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def ScatterND(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    reduction: str = "none",
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def TensorScatter(
    past_cache: ArrayLike,
    update: ArrayLike,
    write_indices: ArrayLike | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
    opset: int | None = None,
) -> np.ndarray: ...
