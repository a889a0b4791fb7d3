"""Write embedding.onnx, a table of word vectors with 4 bits per number, and inputs.npz.

ONNX Runtime's quantizer for embeddings makes the model: its Gather becomes GatherBlockQuantized.

    python make.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

WORDS, WIDTH = 500, 96


def main(folder: Path) -> None:
    """Make the model with floats, and quantize it."""
    generator = np.random.default_rng(2026)
    table = generator.standard_normal((WORDS, WIDTH)).astype(np.float32)
    gather = helper.make_node("Gather", ["table", "tokens"], ["vectors"], name="embed_tokens")
    graph = helper.make_graph(
        [gather],
        "embedding",
        [helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, ["sentences", "words"])],
        [helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["sentences", "words", WIDTH])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    config = DefaultWeightOnlyQuantConfig(
        block_size=32, is_symmetric=False, op_types_to_quantize=("Gather",), quant_axes=(("Gather", 1),)
    )
    quantizer = MatMulNBitsQuantizer(model, algo_config=config)
    quantizer.process()
    onnx.save(quantizer.model.model, folder / "embedding.onnx")
    np.savez(folder / "inputs.npz", tokens=np.array([[3, 41, 59, 499], [26, 5, 35, -1]]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
