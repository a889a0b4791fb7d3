"""The rules that cases check: the words of the specifications, or that they are silent, and the rulings.

O is ONNX, V is OpenVINO. A number such as 2.6 is a section of docs/specification.md.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Rule:
    """One rule.

    >>> from gatherscatter_conformance.rules import RULES
    >>> print(RULES["O3"].ruling)
    the last in row-major order wins
    """

    title: str  # the point, or the operator
    ruling: str  # the decision of gatherscatter
    text: str  # the sentence of the source, or what it does not say
    source: str  # the specifications, with op versions


def _read() -> dict[str, Rule]:
    text = resources.files(__package__).joinpath("data", "rules.toml").read_text(encoding="utf-8")
    return {name: Rule(**fields) for name, fields in tomllib.loads(text).items()}


RULES = _read()
"""All rules by id."""
