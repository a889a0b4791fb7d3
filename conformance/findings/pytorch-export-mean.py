"""PyTorch: torch.onnx.export writes scatter_reduce("mean") as ScatterElements without a reduction."""

import sys
import warnings

import onnxruntime
import torch

TEXT = (
    "PyTorch, Tensor.scatter_reduce_: Reduces all values from the src tensor ... using the applied reduction defined "
    'via the reduce argument ("sum", "prod", "mean", "amax", "amin")'
)


class Mean(torch.nn.Module):
    def forward(self, data, index, source):
        return data.scatter_reduce(0, index, source, "mean")


inputs = torch.zeros(2), torch.tensor([0, 0]), torch.tensor([1.0, 5.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model = torch.onnx.export(Mean().eval(), inputs, dynamo=True, verbose=False).model_proto
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
names = [info.name for info in session.get_inputs()]
(result,) = session.run(None, {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)})
expected = Mean()(*inputs).numpy()

print("release  ", "torch", torch.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", result)
sys.exit(0 if (result != expected).any() else 3)
