"""Run both forms of the KV-cache update and check that they give the same caches."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gatherscatter_models as gm


def main(folder: Path) -> None:
    """Print the updated key cache of the first head, and compare the two models."""
    with np.load(folder / "inputs.npz") as file:
        inputs = dict(file)
    new_form = gm.run(folder / "tensor_scatter.onnx", inputs)
    old_form = gm.run(folder / "scatter_nd.onnx", inputs)
    for name, expected in old_form.items():
        np.testing.assert_array_equal(new_form[name], expected)
    for sequence, start in enumerate(inputs["positions"]):
        print(f"sequence {sequence}, new tokens from position {start}, keys of head 0:")
        print(new_form["present_key"][sequence, 0])
    print("TensorScatter and ScatterND give equal caches")


if __name__ == "__main__":
    main(Path(__file__).parent)
