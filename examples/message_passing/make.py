"""Write message passing on a graph as an ONNX model, and the molecule of caffeine as its input.

Each bond carries a message from each of its atoms to the other: the features of the sender (Gather). The messages to an
atom are added up with ScatterND (add). The sum counts the neighbours of each element. ScatterElements (max) finds the
largest charge of a neighbour. A small layer with weights computes the new features. Sum and maximum over neighbours are
the core of graph neural networks.

    python make.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

ELEMENTS = "CNO"
CHARGE = {"C": 6, "N": 7, "O": 8}
# The atoms of caffeine without hydrogen, and its bonds.
ATOMS = "CNCNCCCONCONCC"
BONDS = [
    (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (5, 6), (6, 7), (6, 8), (8, 9), (9, 10), (9, 11), (11, 4),
    (8, 12), (11, 13),
]  # fmt: skip


def inputs() -> dict[str, Any]:
    """Return one-hot elements, nuclear charges, and each bond in both directions."""
    features = np.array([[element == atom for element in ELEMENTS] for atom in ATOMS], np.float32)
    charges = np.array([CHARGE[atom] for atom in ATOMS], np.int32)
    edges = np.array([*BONDS, *((b, a) for a, b in BONDS)], np.int64).T
    return {"features": features, "charges": charges, "source": edges[0], "target": edges[1]}


def model() -> onnx.ModelProto:
    """Return the model: sum and maximum over neighbours, then relu(features @ own + neighbours @ other)."""
    generator = np.random.default_rng(3)
    width = len(ELEMENTS)
    constants: dict[str, np.ndarray] = {
        "zero": np.zeros((), np.float32),
        "last_axis": np.array([-1], np.int64),
        "own": generator.integers(-4, 5, size=(width, 2)).astype(np.float32) / 4,
        "other": generator.integers(-4, 5, size=(width, 2)).astype(np.float32) / 4,
    }
    nodes = [
        helper.make_node("Gather", ["features", "source"], ["messages"]),
        helper.make_node("Mul", ["features", "zero"], ["nothing"]),
        helper.make_node("Unsqueeze", ["target", "last_axis"], ["rows"]),
        helper.make_node("ScatterND", ["nothing", "rows", "messages"], ["neighbours"], reduction="add"),
        helper.make_node("Gather", ["charges", "source"], ["charge_messages"]),
        helper.make_node("Sub", ["charges", "charges"], ["no_charge"]),
        helper.make_node(
            "ScatterElements", ["no_charge", "target", "charge_messages"], ["largest_charge"], axis=0, reduction="max"
        ),
        helper.make_node("MatMul", ["features", "own"], ["from_self"]),
        helper.make_node("MatMul", ["neighbours", "other"], ["from_neighbours"]),
        helper.make_node("Add", ["from_self", "from_neighbours"], ["mixed"]),
        helper.make_node("Relu", ["mixed"], ["updated"]),
    ]
    graph = helper.make_graph(
        nodes,
        "message_passing",
        [
            helper.make_tensor_value_info("features", TensorProto.FLOAT, ["atoms", width]),
            helper.make_tensor_value_info("charges", TensorProto.INT32, ["atoms"]),
            helper.make_tensor_value_info("source", TensorProto.INT64, ["edges"]),
            helper.make_tensor_value_info("target", TensorProto.INT64, ["edges"]),
        ],
        [
            helper.make_tensor_value_info("neighbours", TensorProto.FLOAT, ["atoms", width]),
            helper.make_tensor_value_info("largest_charge", TensorProto.INT32, ["atoms"]),
            helper.make_tensor_value_info("updated", TensorProto.FLOAT, ["atoms", 2]),
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


def main(folder: Path) -> None:
    """Write the model and the inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model(), folder / "message_passing.onnx")
    np.savez(folder / "inputs.npz", **inputs())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
