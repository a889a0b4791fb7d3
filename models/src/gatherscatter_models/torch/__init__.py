"""Exports of PyTorch's modules to ONNX: translations for `torch.onnx.export`, and a check of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import gatherscatter.torch.segment.reduce  # noqa: F401  (defines an operator)
from gatherscatter.torch.library import operator
from gatherscatter_models.torch import aten as pytorch_operators
from gatherscatter_models.torch import domain as own_domain
from gatherscatter_models.torch import own
from gatherscatter_models.torch.checking import check_export

__all__ = ["check_export", "onnx_translations"]


def __dir__() -> list[str]:
    return __all__


def onnx_translations(*, aten: bool = False, domain: bool = False) -> dict[Any, Callable[..., Any]]:
    """Return the table for ``torch.onnx.export(..., dynamo=True, custom_translation_table=onnx_translations())``.

    Parameters
    ----------
    aten : bool
        Also translate PyTorch's own scatters and bags. PyTorch's exporter writes a wrong node for some of them, and a
        loop for others (docs/pytorch.md).
    domain : bool
        Write operators of the domain ``gatherscatter`` for calls that ONNX can't express. `InferenceSession` and the
        native library run them.

    Raises
    ------
    ValueError
        During the export: ONNX has no equivalent of the call, such as one with ``accumulate="exact"``. The message
        says why.

    >>> from gatherscatter_models.torch import onnx_translations
    >>> len(onnx_translations()), len(onnx_translations(aten=True))
    (9, 35)
    """
    own_operators = own.TRANSLATIONS
    if domain:
        own_operators = {name: own_domain.with_domain(name, translate) for name, translate in own_operators.items()}
    table = {operator(name): translate for name, translate in own_operators.items()}
    table[torch.ops.aten.repeat_interleave.Tensor] = pytorch_operators.repeat_interleave  # of `segment`
    return table | pytorch_operators.TRANSLATIONS if aten else table
