"""PyTorch: torch.onnx.export treats the integer indices of x[indices, mask] as a mask."""

import sys
import warnings

import numpy as np
import onnxruntime
import torch

TEXT = (
    "NumPy, Indexing on ndarrays, which PyTorch's tensors follow: Boolean array indexing ... is equivalent to "
    "x[obj.nonzero()]. Combining multiple Boolean indexing arrays or a Boolean with an integer indexing array can best "
    "be understood with the obj.nonzero() analogy."
)


class Read(torch.nn.Module):
    def forward(self, data, index, mask):
        return data[index, mask]


inputs = torch.arange(9.0).reshape(3, 3), torch.tensor([1, 2]), torch.tensor([True, False, True])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model = torch.onnx.export(Read().eval(), inputs, dynamo=True, verbose=False).model_proto
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
names = [info.name for info in session.get_inputs()]
(result,) = session.run(None, {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)})
expected = Read()(*inputs).numpy()

print("release  ", "torch", torch.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", result)
sys.exit(0 if not np.array_equal(result, expected) else 3)
