"""EmbeddingBag, with the operator that gathers and reduces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gatherscatter.arrays.torch_tensors import TORCH, is_intercepted, is_plain_tensor, is_transformed
from gatherscatter.errors import CONVERTED_NEGATIVE, OpError, make_choice_error, make_error, raise_index_error, reword
from gatherscatter.functions.gather_reduce import check_members_shape
from gatherscatter.messages.sentences import format_sentence
from gatherscatter.operation import Kernel
from gatherscatter.torch.bags import find_member_bags, gather_reduce
from gatherscatter.torch.functions import check_memory, check_tensors, choose_accumulate, gather

_OP = "EmbeddingBag"
_NAMES = {"data": "weight", "indices": "input", "weights": "per_sample_weights"}
_REDUCTIONS = {"sum": "add", "mean": "mean", "max": "max"}


class EmbeddingBag(torch.nn.EmbeddingBag):
    """Compute sums, means or maxima of bags of embeddings: a replacement for `torch.nn.EmbeddingBag`.

    Arguments, initialisation and state dict are those of `torch.nn.EmbeddingBag`, which documents them. Differences:

    - The result is bit-for-bit identical for any number of threads. Sums of 16-bit floats are rounded once.
    - Second derivatives exist, for every mode.
    - With ``mode="max"``, equal maxima share the gradient in equal parts. PyTorch gives it to one of them.
    - The offsets are checked: they must start with 0 and must not decrease.

    Raises
    ------
    NotImplementedError
        In the constructor: ``max_norm``, ``scale_grad_by_freq`` or ``sparse`` is set. In a call:
        ``per_sample_weights`` are given with a mode other than "sum". PyTorch has the same restriction.
    ValueError
        ``mode`` is not "sum", "mean" or "max". Shapes or offsets do not fit.
    TypeError
        An argument is not a tensor. A tensor is sparse, nested or quantized, or on another device. Types do not fit.
    IndexError
        An index or an offset is out of range. The message names its position.

    >>> import torch, gatherscatter.torch as gst
    >>> table = torch.tensor([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    >>> bag = gst.EmbeddingBag.from_pretrained(table, mode="sum", padding_idx=0)
    >>> bag
    EmbeddingBag(3, 2, mode='sum', padding_idx=0)
    >>> bag(torch.tensor([[1, 2], [2, 0]]))
    tensor([[110., 220.],
            [100., 200.]])
    >>> bag(torch.tensor([1, 2, 2]), torch.tensor([0, 2]), per_sample_weights=torch.tensor([1.0, 0.5, 2.0]))
    tensor([[ 60., 120.],
            [200., 400.]])
    """

    def __init__(  # noqa: PLR0917
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        refused = {"max_norm": max_norm is not None, "scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
        for name, is_set in refused.items():
            if is_set:
                raise NotImplementedError(f"{_OP}: {name} is not supported; use torch.nn.EmbeddingBag for it")
        if mode not in _REDUCTIONS:
            raise make_choice_error(_OP, "mode", mode, _REDUCTIONS)
        super().__init__(
            num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight,
            include_last_offset, padding_idx, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Reduce the bags of ``input``.

        Parameters
        ----------
        input : tensor of integers, shape (B, N) or (N,)
            Rows of the table. With one dimension, ``offsets`` holds the starts of the bags.
        offsets : tensor of integers, shape (B,), or (B + 1,) with ``include_last_offset``
        per_sample_weights : tensor of the table's type, shape of input
            The factor of each row, before it is added.

        Returns
        -------
        tensor of the table's type, shape (B, embedding_dim)
            A bag without members, or with only padding, gives zeros.
        """
        given = {"offsets": offsets, "per_sample_weights": per_sample_weights}
        tensors = {name: tensor for name, tensor in given.items() if tensor is not None}
        check_tensors(_OP, weight=self.weight, input=input, **tensors)
        if per_sample_weights is not None:
            if self.mode != "sum":
                text = f"{_OP}: per_sample_weights is allowed only with mode='sum', not {self.mode!r}"
                raise NotImplementedError(text)
            check_members_shape(_OP, "per_sample_weights", tuple(per_sample_weights.shape), tuple(input.shape))
        if input.ndim == 0 or (input.ndim == 1) == (offsets is None):
            raise make_error("bag_input", _OP, shape=tuple(input.shape))
        input = self._without_negatives(input)
        try:
            result = self._reduce(input, offsets, per_sample_weights)
        except OpError as error:
            raise reword(error, _OP, _NAMES) from None
        # The last offset starts a bag that is not part of the result.
        return result[:-1] if self.include_last_offset and offsets is not None else result

    def _without_negatives(self, input: Tensor) -> Tensor:
        """Return the indices. Negative ones, which the operator would count from the end, are out of range."""
        if input.dtype.is_floating_point or input.dtype.is_complex or input.dtype == torch.bool:
            return input  # the operator refuses them
        is_wrapped = is_transformed() or is_intercepted() or torch._is_functional_tensor(input)
        if is_wrapped or not is_plain_tensor(input):  # values are unknown, or not in this memory
            return torch.where(input < 0, CONVERTED_NEGATIVE, input.long()) if input.dtype.is_signed else input
        array, size = TORCH.take(_OP, "input", input), self.weight.shape[0]
        if array.size and (array.min() < 0 or array.max() >= size):
            bad = np.flatnonzero((array < 0) | (array >= size))
            subject = format_sentence("parts", "rows", array="weight", size=size)
            raise_index_error(_OP, "input", array, bad, subject=subject, axis=0, allowed=(0, size - 1))
        return input

    def _reduce(self, input: Tensor, offsets: Tensor | None, weights: Tensor | None) -> Tensor:
        accumulate = "step" if self.mode == "max" else choose_accumulate(self.weight)
        how: dict[str, Any] = {"reduction": _REDUCTIONS[self.mode], "accumulate": accumulate}
        if self.padding_idx is None:
            return gather_reduce(self.weight, input, offsets=offsets, weights=weights, **how)
        return self._reduce_without_padding(input, offsets, weights, how)

    def _reduce_without_padding(
        self, input: Tensor, offsets: Tensor | None, weights: Tensor | None, how: dict[str, Any]
    ) -> Tensor:
        """Put all padding into an additional bag, the first one. So shapes do not depend on values."""
        check_memory(_OP, input=input, per_sample_weights=weights)
        is_padding: Any = torch.arange(self.num_embeddings, device=input.device) == self.padding_idx
        padding = gather(Kernel.GATHER, is_padding, input).flatten()
        bags = input.shape[:-1] if offsets is None else offsets.shape
        ids = (find_member_bags(input, offsets, None, None, input.numel()) + 1).masked_fill(padding, 0)
        flat = None if weights is None else weights.flatten()
        how |= {"segment_ids": ids, "num_segments": math.prod(bags) + 1, "weights": flat}
        result = gather_reduce(self.weight, input.flatten(), **how)
        return result[1:].reshape(*bags, self.embedding_dim)
