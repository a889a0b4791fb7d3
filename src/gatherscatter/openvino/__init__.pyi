import numpy as np
from numpy.typing import ArrayLike

def EmbeddingBagOffsets(
    emb_table: ArrayLike,
    indices: ArrayLike,
    offsets: ArrayLike,
    default_index: ArrayLike | None = None,
    per_sample_weights: ArrayLike | None = None,
    *,
    reduction: str = "sum",
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def EmbeddingBagOffsetsSum(
    emb_table: ArrayLike,
    indices: ArrayLike,
    offsets: ArrayLike,
    default_index: ArrayLike | None = None,
    per_sample_weights: ArrayLike | None = None,
    *,
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def EmbeddingBagPacked(
    emb_table: ArrayLike,
    indices: ArrayLike,
    per_sample_weights: ArrayLike | None = None,
    *,
    reduction: str = "sum",
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def EmbeddingBagPackedSum(
    emb_table: ArrayLike,
    indices: ArrayLike,
    per_sample_weights: ArrayLike | None = None,
    *,
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def EmbeddingSegmentsSum(
    emb_table: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: ArrayLike,
    default_index: ArrayLike | None = None,
    per_sample_weights: ArrayLike | None = None,
    *,
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def Gather(
    data: ArrayLike,
    indices: ArrayLike,
    axis: ArrayLike,
    *,
    batch_dims: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def GatherElements(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    axis: int,
    opset: int | None = None,
) -> np.ndarray: ...
def GatherND(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    batch_dims: int = 0,
    opset: int | None = None,
) -> np.ndarray: ...
def GatherTree(
    step_ids: ArrayLike,
    parent_ids: ArrayLike,
    max_seq_len: ArrayLike,
    end_token: ArrayLike,
    *,
    opset: int | None = None,
) -> np.ndarray: ...
def SegmentMax(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: ArrayLike | None = None,
    *,
    fill_mode: str,
    opset: int | None = None,
) -> np.ndarray: ...
def ScatterUpdate(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: ArrayLike,
    *,
    opset: int | None = None,
) -> np.ndarray: ...
def ScatterElementsUpdate(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: ArrayLike,
    *,
    reduction: str = "none",
    use_init_val: bool = True,
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
def ScatterNDUpdate(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    reduction: str = "none",
    opset: int | None = None,
    accumulate: str | None = None,
) -> np.ndarray: ...
