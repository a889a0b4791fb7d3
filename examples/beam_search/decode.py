"""Run the IR on the results of the beam search, and print the sentences as words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from make import END, WORDS

import gatherscatter as gs
import gatherscatter_models as gm


def sentences(folder: Path) -> list[list[str]]:
    """Return the beams of each search as text, best first."""
    with np.load(folder / "inputs.npz") as file:
        ids = gm.run(folder / "beam_search.xml", dict(file))["sentences"]
    words = gs.gather(np.array(["" if number == END else word for number, word in enumerate(WORDS)]), ids)
    return [[" ".join(beam).strip() for beam in search] for search in words]


def main(folder: Path) -> None:
    """Print the sentences."""
    for search in sentences(folder):
        print("\n".join(search), end="\n\n")


if __name__ == "__main__":
    main(Path(__file__).parent)
