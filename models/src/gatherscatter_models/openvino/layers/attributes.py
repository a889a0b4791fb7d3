"""Convert the attributes that OpenVINO shows to the keyword arguments of a layer's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from gatherscatter.messages.text import quote
from gatherscatter_models.openvino import element_types


class Signature(NamedTuple):
    """The number of inputs of a layer's function, and its attributes with type and default."""

    least: int
    most: int | None
    attributes: dict[str, tuple[Any, Any]]


@cache
def signature(function: Callable[..., Any]) -> Signature:
    """Read the signature of a layer's function: positional parameters are inputs, keyword-only ones attributes."""
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    inputs = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    attributes = {
        parameter.name: (hints[parameter.name], parameter.default)
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    least = 1 if variadic else sum(parameter.default is parameter.empty for parameter in inputs)
    return Signature(least, None if variadic else len(inputs), attributes)


def arguments(function: Callable[..., Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments for ``function``. Other attributes are ignored, as in OpenVINO."""
    known = signature(function).attributes
    return {name: _convert(attributes[name], hint, name) for name, (hint, _) in known.items() if name in attributes}


def _convert(value: Any, hint: Any, name: str) -> Any:
    """Convert the value of an attribute to the type of its annotation."""
    if get_origin(hint) is Literal:
        return choice(value, get_args(hint), name)
    if get_origin(hint) is tuple:
        return tuple(value)
    if hint in (np.dtype[Any], np.dtype[Any] | None):
        return element_types.from_name(value).dtype
    return value


def choice(text: str, choices: tuple[str, ...], name: str) -> str:
    """Return the choice that the text names. Case is ignored: OpenVINO writes "zero", the specification "ZERO"."""
    for one in choices:
        if one.lower() == text.lower():
            return one
    raise ValueError(f"attribute {name} is {quote(text)}, not one of {', '.join(choices)}")
