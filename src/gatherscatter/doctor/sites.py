"""The gather and scatter nodes of a model, as far as the file tells: operands, attributes, constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gatherscatter.model_interface import Model
from gatherscatter.spec import REDUCTIONS
from gatherscatter.versions import OpVersion

Dims = tuple[int | None, ...] | None
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Operand:
    """An input of a node.

    Attributes
    ----------
    role : its name in the specification: "data", "indices", "updates", "axis", ...
    tensor : its name in the graph
    element_type, shape : None, or None within the shape, where unknown
    constant : gives the value; None where that is made at run time
    is_size : whether the value is known to be made of sizes of arrays, so that it is small and not negative
    """

    role: str
    tensor: str
    element_type: str | None = None
    shape: Dims = None
    constant: Callable[[], np.ndarray] | None = field(default=None, repr=False, compare=False)
    is_size: bool = False


@dataclass(frozen=True)
class Site:
    """One node: ``key`` names it within the model, ``label`` in messages, ``place`` says in which graph it stands.

    An attribute that a function takes from its caller is missing in ``attributes``.
    """

    key: Key
    name: str
    label: str
    place: str
    row: OpVersion
    operands: tuple[Operand | None, ...]
    attributes: dict[str, Any]

    @property
    def reduction(self) -> str | None:
        """In the names of this package; None where it is not known before the model runs."""
        if all(known.name != "reduction" for known in self.row.attributes):
            return "none"
        value = self.attributes.get("reduction")
        return None if value is None else REDUCTIONS.get(value, value)

    def operand(self, role: str) -> Operand | None:
        """The input of that role; None if it is left out, or the operator has none."""
        return next((each for each in self.operands if each is not None and each.role == role), None)


# Called with the key of a node, its version, its inputs and its attributes, before it runs.
Observer = Callable[[Key, OpVersion, tuple[Any, ...], dict[str, Any]], None]


class Source(Protocol):
    """A model that is looked at: ``sites`` are its nodes of the family, ``notes`` what could not be looked at."""

    name: str
    sites: list[Site]
    notes: list[str]

    def load(self, observe: Observer) -> Model:
        """The model, ready to run; every node of the family is shown to ``observe``."""
        ...
