"""Write an embedding look-up as an ONNX model: token ids to words, vectors, and the mean vector of a sentence.

Sentences in a batch are padded to one length. The padding id is an ordinary row of the table, filled with zeros.
-1 is not usable as padding id: in ONNX it is the last row, so a padded sentence would silently contain the last word.

    python make.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

PADDING = 0
WORDS = ["<pad>", "a", "the", "cat", "dog", "bird", "sees", "chases", "sleeps", "."]
SENTENCES = ["the cat sees a bird .", "the dog sleeps .", "a dog chases the cat ."]
WIDTH = 4


def vectors() -> np.ndarray:
    """Return a table with one vector for each word. The vector of the padding is zero."""
    table = np.random.default_rng(7).integers(-9, 10, size=(len(WORDS), WIDTH)).astype(np.float32) / 8
    table[PADDING] = 0
    return table


def token_ids() -> np.ndarray:
    """Return the sentences as rows of ids, padded to the longest."""
    rows = [[WORDS.index(word) for word in sentence.split()] for sentence in SENTENCES]
    longest = max(map(len, rows))
    return np.array([row + [PADDING] * (longest - len(row)) for row in rows], np.int64)


def model() -> onnx.ModelProto:
    """Return the model. It reads a table of vectors and a table of strings, and its mean ignores the padding."""
    constants: dict[str, np.ndarray] = {
        "table": vectors(),
        "vocabulary": np.array(WORDS, dtype=object),
        "padding": np.array(PADDING, np.int64),
        "sequence_axis": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["vocabulary", "token_ids"], ["words"]),
        helper.make_node("Gather", ["table", "token_ids"], ["vectors"]),
        helper.make_node("ReduceSum", ["vectors", "sequence_axis"], ["total"], keepdims=0),
        helper.make_node("Equal", ["token_ids", "padding"], ["is_padding"]),
        helper.make_node("Not", ["is_padding"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "sequence_axis"], ["count"], keepdims=1),
        helper.make_node("Div", ["total", "count"], ["sentence"]),
    ]
    graph = helper.make_graph(
        nodes,
        "embedding",
        [helper.make_tensor_value_info("token_ids", TensorProto.INT64, ["batch", "sequence"])],
        [
            helper.make_tensor_value_info("words", TensorProto.STRING, ["batch", "sequence"]),
            helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["batch", WIDTH]),
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


def main(folder: Path) -> None:
    """Write the model and the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model(), folder / "embedding.onnx")
    np.savez(folder / "inputs.npz", token_ids=token_ids())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
