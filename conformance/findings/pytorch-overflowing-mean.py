"""PyTorch: The mean of integers is wrong if their sum overflows."""

import sys

import torch

TEXT = (
    "PyTorch, Tensor.scatter_reduce_: Reduces all values from the src tensor ... using the applied reduction "
    'defined via the reduce argument ("sum", "prod", "mean", "amax", "amin")'
)
data = torch.tensor([100], dtype=torch.int8)
result = data.scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([100, 100], dtype=torch.int8), "mean")

expected = "100, the mean of three times 100"
observed = int(result[0])
departs = observed != 100

print("release  ", "torch", torch.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 3)
