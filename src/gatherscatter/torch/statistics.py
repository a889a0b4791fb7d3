"""Statistics of groups for PyTorch, with gradients."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from gatherscatter.errors import with_call_errors
from gatherscatter.functions.statistics import composed
from gatherscatter.functions.statistics.layout import LABELS
from gatherscatter.functions.statistics.names import DEFAULT_FILL
from gatherscatter.torch.functions import check_memory

_OP = "aggregate"


@with_call_errors
def aggregate(
    group_idx: Any,
    a: Tensor,
    func: str = "sum",
    size: int | None = None,
    fill_value: Any = DEFAULT_FILL,
    axis: int = 0,
    *,
    ddof: int | None = None,
) -> Tensor:
    """Compute a statistic of the values of each group, as `gatherscatter.aggregate` does, with gradients.

    Parameters
    ----------
    group_idx : tensor of integers, shape (n,)
        The group of each position along ``axis``, in [0, size-1].
    a : Tensor of length n along ``axis``
    func : str
        'sum', 'prod', 'mean', 'var', 'std', 'min', 'max', 'first', 'last', 'any', 'all', 'argmin', 'argmax', 'len',
        and the same with the prefix 'nan', which skip NaN. 'mean', 'var' and 'std' of integers have the default type
        of floats.
    size : int, optional
        The number of groups. By default, the largest label decides. Compiled and exported code needs it.
    fill_value : number, optional
        The result of a group without values; see `gatherscatter.aggregate`.
    axis : int
    ddof : int
        For 'var' and 'std': see `gatherscatter.aggregate`. The default is 0.

    Returns
    -------
    Tensor
        It has the shape of ``a``, with ``size`` at the axis. Sums are those of `gather_reduce`, in the type of ``a``.
        All functions of floats have gradients, except positions, counts and truth values.

    Raises
    ------
    IndexError
        A label is out of range.
    TypeError, ValueError
        A type, a shape or the name of a function is not valid.

    >>> import torch, gatherscatter.torch as gst
    >>> a = torch.tensor([1.0, 3.0, 5.0], requires_grad=True)
    >>> spread = gst.aggregate(torch.tensor([0, 0, 1]), a, "var", 2)
    >>> spread
    tensor([1., 0.], grad_fn=<PermuteBackward0>)
    >>> spread.sum().backward()
    >>> a.grad
    tensor([-1.,  1.,  0.])
    """
    values = a if isinstance(a, Tensor) else torch.as_tensor(composed.read_input("a", a))
    labels = group_idx
    if not isinstance(labels, Tensor):
        labels = torch.as_tensor(composed.read_input(LABELS, labels), device=values.device)
    check_memory(_OP, group_idx=labels, a=values)
    options = {"fill_value": fill_value, "axis": axis, "ddof": ddof}
    return composed.aggregate(_OP, _framework(), labels, values, func, size, **options)  # type: ignore[no-any-return]


def _framework() -> composed.Framework:
    return composed.Framework(
        torch,
        sys.modules["gatherscatter.torch"],
        lambda tensor, dtype: tensor.to(dtype),
        lambda tensor: tensor.is_floating_point() or tensor.is_complex(),
        torch.get_default_dtype(),
        torch.int64,
        lambda labels: int(labels.max()) + 1 if labels.numel() else 0,
        lambda tensor: tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor,
    )
