from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

def gather(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def gather_elements(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def gather_nd(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    batch_dims: int = 0,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def scatter_update(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def scatter_elements(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def scatter_nd(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    reduction: str = "none",
    include_self: bool = True,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def gather_quantized(
    data: ArrayLike,
    indices: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    *,
    axis: int = 0,
    quantize_axis: int = -1,
    block_size: int = 128,
    bits: int = 4,
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def gather_reduce(
    data: ArrayLike,
    indices: ArrayLike | None = None,
    *,
    offsets: ArrayLike | None = None,
    segment_ids: ArrayLike | None = None,
    indptr: ArrayLike | None = None,
    num_segments: int | None = None,
    weights: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    zero_points: ArrayLike | None = None,
    quantize_axis: int = -1,
    block_size: int = 128,
    bits: int = 4,
    reduction: str = "add",
    default: ArrayLike = 0,
    accumulate: str = "step",
    mode: str = "raise",
    out: np.ndarray | None = None,
    num_threads: int | None = None,
) -> np.ndarray: ...
def apply(
    op: str,
    kernel: str,
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None,
    axis: int,
    batch_dims: int,
    reduction: str,
    include_self: bool,
    accumulate: str,
    mode: str,
    negative: bool,
    out: np.ndarray | None,
    num_threads: int | None,
    /,
) -> np.ndarray: ...
def bind_call(
    op: str,
    kernel: str,
    axis: int,
    batch_dims: int,
    reduction: str,
    include_self: bool,
    accumulate: str,
    mode: str,
    negative: bool,
    /,
) -> Callable[..., np.ndarray]: ...
def make_call_key(
    op: str, accumulate: str | None, inputs: tuple[Any, ...], attributes: dict[str, Any], /
) -> tuple[Any, ...] | None: ...
def run_known_call(
    known: dict[tuple[Any, ...], Callable[..., np.ndarray]],
    op: str,
    accumulate: str | None,
    inputs: tuple[Any, ...],
    attributes: dict[str, Any],
    /,
) -> Any: ...
def describe_call(
    op: str,
    kernel: str,
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None,
    axis: int,
    batch_dims: int,
    reduction: str,
    include_self: bool,
    accumulate: str,
    mode: str,
    negative: bool,
    out: np.ndarray | None,
    num_threads: int | None,
    /,
) -> dict[str, Any]: ...
def check_call(
    op: str,
    kernel: str,
    data: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray | None,
    axis: int,
    batch_dims: int,
    reduction: str,
    include_self: bool,
    accumulate: str,
    mode: str,
    negative: bool,
    out: np.ndarray | None,
    num_threads: int | None,
    /,
) -> None: ...
def supports(dtype: np.dtype[Any], reduction: str, /) -> bool: ...
def group(rows: np.ndarray, count: int, /) -> tuple[np.ndarray, np.ndarray]: ...
def find_bad_indices(
    tuples: np.ndarray,
    shape: tuple[int, ...],
    first_axis: int,
    negative: bool,
    only_empty: bool,
    may_be_batched: bool,
    /,
) -> tuple[int, tuple[int, ...], tuple[int, ...], int, int, int, tuple[str, dict[str, int]]] | None: ...
def find_index_hint(
    tuples: np.ndarray, shape: tuple[int, ...], first_axis: int, negative: bool, /
) -> tuple[str, dict[str, int]]: ...
def resolve_indices(tuples: np.ndarray, dims: tuple[int, ...], mode: str, negative: bool, /) -> np.ndarray | None: ...
def copied(array: np.ndarray, dtype: np.dtype[Any], /) -> np.ndarray: ...
def cast(array: np.ndarray, dtype: np.dtype[Any], /) -> Any: ...
def register_tensors(
    tensor: type, parameter: type, is_observed: Callable[[], bool], is_grad_enabled: Callable[[], bool], /
) -> bool: ...
def apply_to_tensors(
    op: str,
    kernel: str,
    data: Any,
    indices: Any,
    updates: Any | None,
    axis: int,
    batch_dims: int,
    reduction: str,
    include_self: bool,
    accumulate: str,
    mode: str,
    negative: bool,
    out: Any | None,
    num_threads: int | None,
    /,
) -> Any: ...
def apply_bags_to_tensors(
    op: str,
    data: Any,
    indices: Any | None,
    offsets: Any | None,
    segment_ids: Any | None,
    indptr: Any | None,
    num_segments: int | None,
    weights: Any | None,
    init: Any | None,
    reduction: str,
    default: Any,
    accumulate: str,
    mode: str,
    negative: bool,
    embedding_rules: bool,
    out: Any | None,
    num_threads: int | None,
    /,
) -> Any: ...
def tensor_array(op: str, input: str, tensor: Any, /) -> np.ndarray: ...
def scatter_groups(
    data: np.ndarray | None,
    starts: np.ndarray,
    order: np.ndarray,
    updates: np.ndarray,
    reduction: str,
    include_self: bool,
    num_threads: int | None,
    /,
) -> Any: ...
def reduce_groups(
    starts: np.ndarray,
    order: np.ndarray,
    updates: np.ndarray,
    reductions: tuple[str, ...],
    num_threads: int | None,
    /,
) -> Any: ...
def group_statistic(
    statistic: str,
    values: np.ndarray | None,
    labels: np.ndarray,
    groups: int,
    skip_nan: bool,
    mode: str,
    fill: np.ndarray | None,
    num_threads: int | None,
    /,
) -> Any: ...
def sort_groups(
    values: np.ndarray, starts: np.ndarray, ranks: np.ndarray | None, num_threads: int | None, /
) -> Any: ...
def find_greatest_label(labels: np.ndarray, /) -> int: ...
def apply_quantized(
    op: str,
    data: np.ndarray,
    indices: np.ndarray,
    scales: np.ndarray,
    zero_points: np.ndarray | None,
    axis: int,
    quantize_axis: int,
    block_size: int,
    bits: int,
    mode: str,
    out: np.ndarray | None,
    num_threads: int | None,
    /,
) -> Any: ...
def describe_quantized(
    op: str,
    data: np.ndarray,
    indices: np.ndarray,
    scales: np.ndarray,
    zero_points: np.ndarray | None,
    axis: int,
    quantize_axis: int,
    block_size: int,
    bits: int,
    mode: str,
    out: np.ndarray | None,
    num_threads: int | None,
    /,
) -> Any: ...
def apply_bags(
    op: str,
    data: np.ndarray,
    indices: np.ndarray | None,
    offsets: np.ndarray | None,
    segment_ids: np.ndarray | None,
    indptr: np.ndarray | None,
    num_segments: int | None,
    weights: np.ndarray | None,
    init: np.ndarray | None,
    reduction: str,
    default: Any,
    accumulate: str,
    mode: str,
    negative: bool,
    embedding_rules: bool,
    out: np.ndarray | None,
    num_threads: int | None,
    table: tuple[Any, ...] | None = None,
    /,
) -> Any: ...
def describe_bags(
    op: str,
    data: np.ndarray,
    indices: np.ndarray | None,
    offsets: np.ndarray | None,
    segment_ids: np.ndarray | None,
    indptr: np.ndarray | None,
    num_segments: int | None,
    weights: np.ndarray | None,
    init: np.ndarray | None,
    reduction: str,
    default: Any,
    accumulate: str,
    mode: str,
    negative: bool,
    embedding_rules: bool,
    out: np.ndarray | None,
    num_threads: int | None,
    table: tuple[Any, ...] | None = None,
    /,
) -> Any: ...
def find_bags(
    op: str,
    members: tuple[int, ...],
    has_indices: bool,
    offsets: np.ndarray | None,
    segment_ids: np.ndarray | None,
    indptr: np.ndarray | None,
    num_segments: int | None,
    embedding_rules: bool,
    /,
) -> tuple[tuple[int, ...], np.ndarray, np.ndarray | None]: ...
def sum_matches(
    values: np.ndarray | None,
    keys: np.ndarray,
    targets: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    num_threads: int | None,
    /,
) -> Any: ...
def dot_rows(
    a: np.ndarray,
    b: np.ndarray,
    rows_of_a: np.ndarray,
    rows_of_b: np.ndarray,
    num_threads: int | None,
    /,
) -> Any: ...
def gather_tree(
    step_ids: np.ndarray,
    parent_ids: np.ndarray,
    max_seq_len: np.ndarray,
    end_token: np.ndarray,
    out: np.ndarray,
    /,
) -> int: ...
def plan(
    kernel: str,
    data_shape: tuple[int, ...],
    indices_shape: tuple[int, ...],
    axis: int = 0,
    batch_dims: int = 0,
    /,
) -> dict[str, Any]: ...
def num_threads() -> int: ...
def set_num_threads(n: int, /) -> None: ...
def pool_limit() -> int: ...
def pool_size() -> int: ...
def set_pool_limit(bytes: int, /) -> None: ...
