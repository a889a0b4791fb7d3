"""A case: a good model, and a number that determines its damage."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tools.fuzz_models.damage_ir import damage_ir
from tools.fuzz_models.damage_onnx import damage_onnx
from tools.fuzz_models.files import Files
from tools.fuzz_models.models import MODELS


class Case(NamedTuple):
    """A good model, and the number that determines its damage."""

    model: str
    number: int

    def __str__(self) -> str:
        return f"{self.model} {self.number}"

    @staticmethod
    def parse(text: str) -> Case:
        name, number = text.split()
        if name not in MODELS:
            raise argparse.ArgumentTypeError(f"no model {name!r}; there is {', '.join(MODELS)}")
        return Case(name, int(number))

    def files(self) -> tuple[Files, list[str]]:
        """Return the damaged files, and a description of the damage."""
        rng = random.Random(str(self))
        damage = damage_onnx if self.model.startswith("onnx") else damage_ir
        return damage(MODELS[self.model](), rng)


def list_cases(seed: int, models: Sequence[str]) -> Iterator[Case]:
    """Yield cases without end, with each model in turn."""
    for number in range(seed, sys.maxsize):
        yield Case(models[number % len(models)], number)


LOOPS = (b"Loop", b"Scan")


def is_excused(case: Case, fault: str) -> bool:
    """Return whether the model itself requires the work, because it has loops."""
    data = next(iter(case.files()[0].values()))
    if not isinstance(data, bytes) or "load" in fault:
        return False
    return any(word in data for word in LOOPS) and (fault.startswith("hang") or " s in run" in fault)
