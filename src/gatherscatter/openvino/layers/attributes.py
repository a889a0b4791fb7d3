"""Convert the text attributes of a ``<data>`` element to the keyword arguments of a layer's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from gatherscatter.openvino import element_types
from gatherscatter.openvino.ir_read import integer, quote


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


def arguments(function: Callable[..., Any], attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return the keyword arguments for ``function``. Other attributes are ignored, as in OpenVINO."""
    values = {}
    for name, (hint, default) in signature(function).attributes.items():
        if name in attributes:
            values[name] = parse(attributes[name], hint, name)
        elif default is inspect.Parameter.empty:
            raise ValueError(f"its <data> lacks the attribute {name!r}")
    return values


def parse(text: str, hint: Any, name: str) -> Any:
    """Parse the text of an attribute as the type of its annotation."""
    if get_origin(hint) is Literal:
        return choice(text, get_args(hint), name)
    if get_origin(hint) is tuple:
        return tuple(integer(part.strip(), f"attribute {name}") for part in text.split(",")) if text.strip() else ()
    if hint is int:
        return integer(text, f"attribute {name}")
    if hint is bool:
        return choice(text.lower(), ("true", "false", "1", "0"), name) in ("true", "1")
    if hint is float:
        return _float(text, name)
    if hint is str:
        return text
    return element_types.from_name(text).dtype if text else None  # np.dtype, or np.dtype | None


def choice(text: str, choices: tuple[str, ...], name: str) -> str:
    """Return the choice that the text names. Case is ignored: OpenVINO writes "zero", the specification "ZERO"."""
    for one in choices:
        if one.lower() == text.lower():
            return one
    raise ValueError(f"attribute {name} is {quote(text)}, not one of {', '.join(choices)}")


def _float(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"attribute {name} is {quote(text)}, not a number") from None
