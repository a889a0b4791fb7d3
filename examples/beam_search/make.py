"""Run a beam search with a tiny language model, and write an OpenVINO IR that reads the sentences from its steps.

Beam search keeps the few best unfinished sentences. Each step stores only the chosen words, and the beam that each word
continues. GatherTree follows these links from the last step back to whole sentences.

    python make.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from gatherscatter_models.openvino.ir_write import IRWriter

WORDS = ["<end>", "the", "a", "cat", "dog", "sees", "chases", "sleeps", "quietly"]
END = 0
NEXT = {  # the words that may follow a word, with their probabilities
    "<end>": {"<end>": 1.0},
    "the": {"cat": 0.5, "dog": 0.5},
    "a": {"dog": 0.6, "cat": 0.4},
    "cat": {"sees": 0.3, "sleeps": 0.35, "<end>": 0.35},
    "dog": {"chases": 0.45, "sleeps": 0.2, "<end>": 0.35},
    "sees": {"a": 0.7, "the": 0.3},
    "chases": {"the": 0.8, "a": 0.2},
    "sleeps": {"<end>": 0.55, "quietly": 0.45},
    "quietly": {"<end>": 1.0},
}
FIRST = ["the", "a"]  # the batch has one search for each first word
STEPS, BEAMS = 7, 3


def log_probabilities() -> np.ndarray:
    """Return the table of the language model. The row is a word, the column is the next word."""
    table = np.full((len(WORDS), len(WORDS)), -np.inf)
    for word, followers in NEXT.items():
        for follower, probability in followers.items():
            table[WORDS.index(word), WORDS.index(follower)] = np.log(probability)
    return table


def search() -> dict[str, Any]:
    """Return the inputs of GatherTree: words and parents of each step, and the length of each search."""
    table = log_probabilities()
    step_ids = np.full((STEPS, len(FIRST), BEAMS), END, np.int32)
    parent_ids = np.zeros((STEPS, len(FIRST), BEAMS), np.int32)
    for batch, word in enumerate(FIRST):
        step_ids[0, batch] = WORDS.index(word)
        score = np.array([0.0] + [-np.inf] * (BEAMS - 1))  # all beams start with the same word, so only one counts
        for step in range(1, STEPS):
            candidates = score[:, None] + table[step_ids[step - 1, batch]]
            best = np.argsort(-candidates, axis=None, kind="stable")[:BEAMS]
            parent_ids[step, batch], step_ids[step, batch] = np.unravel_index(best, candidates.shape)
            score = candidates.ravel()[best]
    lengths = np.full(len(FIRST), STEPS, np.int32)
    return {"step_ids": step_ids, "parent_ids": parent_ids, "max_seq_len": lengths}


def write_model(path: Path) -> None:
    """Write GatherTree and a Transpose from (step, batch, beam) to (batch, beam, step). Each row is then a sentence."""
    writer = IRWriter("beam_search")
    inputs = [
        writer.parameter("step_ids", "i32", [None, None, None]),
        writer.parameter("parent_ids", "i32", [None, None, None]),
        writer.parameter("max_seq_len", "i32", [None]),
    ]
    beams = writer.layer("GatherTree", "opset1", [*inputs, np.int32(END)])
    writer.result("sentences", writer.layer("Transpose", "opset1", [beams, np.array([1, 2, 0])]))
    writer.save(path)


def main(folder: Path) -> None:
    """Write the model and the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder / "beam_search.xml")
    np.savez(folder / "inputs.npz", **search())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
