"""Calls as texts: how they are read, and those that the playground offers and the operator pages show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from gatherscatter.arrays.casts import can_represent_type, convert_checked, dtype_of
from gatherscatter.explaining import Explanation, explain
from gatherscatter.messages.choices import SCALE_TYPES
from gatherscatter.specs.rows import Attribute
from gatherscatter.specs.table import TABLE, OpVersion

TYPES = tuple(dict.fromkeys(name for row in TABLE for name in (*row.element_types, *SCALE_TYPES)))
"""The names of the element types of all op versions."""

_WRITTEN = re.compile(r"(\w+)(?:\(([\d, ]*)\))?:(.*)", re.DOTALL)


class MistakeError(ValueError):
    """A call that can't be read. ``input`` is the name of the input or attribute, or empty."""

    def __init__(self, text: str, input: str = "") -> None:
        super().__init__(text)
        self.input = input


class ReadCall(NamedTuple):
    """A call that was read: the op version, its inputs in order, and its attributes."""

    row: OpVersion
    inputs: tuple[np.ndarray | None, ...]
    attributes: dict[str, Any]

    def explain(self) -> Explanation:
        """Make the call and explain it."""
        return explain(self.row, *self.inputs, **self.attributes)


class Preset(NamedTuple):
    """A call as texts: its title, and its inputs and attributes by name."""

    title: str
    inputs: dict[str, str]
    attributes: dict[str, str]


@cache
def _read_presets() -> dict[str, list[Preset]]:
    file = resources.files(__package__) / "presets.json"
    return {name: [Preset(**one) for one in presets] for name, presets in json.loads(file.read_text("utf-8")).items()}


def presets(row: OpVersion) -> list[Preset]:
    """Return the presets of an op version. Their attributes are attributes of the version."""
    choices = {one.name: one.choices for one in row.attributes}
    return [
        preset
        for preset in _read_presets()[f"{row.domain}.{row.op_type}"]
        if all(name in choices and value in (choices[name] or (value,)) for name, value in preset.attributes.items())
    ]


def read_call(row: OpVersion, inputs: Any, attributes: Any) -> ReadCall:
    """Read a call of an op version. Inputs and attributes are texts by name.

    >>> from gatherscatter.specs.table import op
    >>> read_call(op("onnx.Gather-13"), {"data": "int64:[5, 6]", "indices": "int64:[1]"}, {}).explain().result
    array([6])

    Raises
    ------
    MistakeError
        A name is not one of the version, or a text can't be read.
    """
    own = {one.name: one for one in row.attributes}
    for given, names in ((inputs, {one.name for one in row.inputs}), (attributes, own.keys())):
        if not isinstance(given, dict) or not given.keys() <= names:
            raise MistakeError(f"{row.name} has other inputs or attributes")
    arrays = [_read(one.name, read_array, inputs.get(one.name)) for one in row.inputs]
    while arrays and arrays[-1] is None:
        arrays.pop()
    values = {name: _read(name, partial(read_attribute, own[name]), text) for name, text in attributes.items()}
    return ReadCall(row, tuple(arrays), values)


def _read(name: str, reader: Callable[[str], Any], text: Any) -> Any:
    if text is None:
        return None
    if not isinstance(text, str):
        raise MistakeError(f"{name} must be a text", name)
    try:
        return reader(text)
    except ValueError as error:
        raise MistakeError(f"{name}: {error}", name) from None


def read_array(text: str) -> np.ndarray:
    """Read an array from ``type:values``. The values are a literal of JSON.

    >>> read_array("int8:[[1, 2]]")
    array([[1, 2]], dtype=int8)
    >>> read_array("float32(0,3):[]").shape  # brackets alone have no such shape
    (0, 3)

    Raises
    ------
    ValueError
        The text has another form, or a value does not fit the type.
    """
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise ValueError("this is not of the form type:values")
    name, shape, values = written.groups()
    if name not in TYPES:
        raise ValueError(f"{name} is not an element type")
    dtype = dtype_of(name)
    if shape is not None:
        sizes = tuple(int(size) for size in shape.split(",") if size.strip())
        if values.strip() != "[]" or 0 not in sizes:
            raise ValueError("a shape before the values is for arrays without elements, such as (0,3):[]")
        return np.empty(sizes, dtype)
    return _convert(_read_literal(values), name, dtype)


def _read_literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is not a value of JSON: {error}") from None
    except RecursionError:
        raise ValueError("this has too many brackets") from None


def _convert(value: Any, name: str, dtype: np.dtype[Any]) -> np.ndarray:
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError("the lists in it have different lengths") from None
    if name == "string":
        texts = np.array(value, object)
        if not all(isinstance(text, str) for text in texts.flat):
            raise ValueError("the values of a string array are texts in quotes")
        return texts
    if name.startswith("complex") and array.dtype.kind == "U":  # JSON has no complex numbers
        try:
            array = array.astype(np.complex128)
        except ValueError:
            raise ValueError(f"{array.ravel().tolist()} are not complex numbers") from None
    if not array.size:
        return array.astype(dtype)
    if array.dtype.kind == "O" or not can_represent_type(array.dtype, dtype):
        raise ValueError(f"the values are not of type {name}")
    converted, changed = convert_checked(array, dtype)
    if changed is not None and changed.any():
        raise ValueError(f"{array[changed][0]} is not a value of type {name}")
    return converted


def read_attribute(attribute: Attribute, text: str) -> Any:
    """Read the value of an attribute.

    Raises
    ------
    ValueError
        The text is not of the attribute's type.
    """
    if attribute.type == "string":
        return text
    if attribute.type == "bool":
        if text not in ("true", "false"):
            raise ValueError(f"{text} is neither true nor false")
        return text == "true"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text} is not an integer") from None
