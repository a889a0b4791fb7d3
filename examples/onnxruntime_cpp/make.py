"""Write a model with repeated indices in two scatters: one in the main graph, and one in the body of a Loop.

python make.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx

MODEL = """
<ir_version: 8, opset_import: ["": 18]>
sums (float[4] start, int64[n, 1] places, float[n] updates) => (float[4] result)
<int64 rounds = {3}, bool go_on = {1}>
{
    once = ScatterND <reduction = "add"> (start, places, updates)
    result = Loop (rounds, go_on, once) <
        body = again (int64 round, bool go_on_in, float[4] before) => (bool go_on_out, float[4] after)
        {
            go_on_out = Identity (go_on_in)
            after = ScatterND <reduction = "add"> (before, places, updates)
        }
    >
}
"""


def main(folder: Path) -> None:
    """Write the model."""
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.parser.parse_model(MODEL)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "sums.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
