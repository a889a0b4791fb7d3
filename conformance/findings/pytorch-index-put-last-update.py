"""PyTorch: x[indices] = updates: the update that remains at a repeated index need not be the last."""

import sys

import torch

TEXT = (
    "PyTorch, Tensor.index_put_: If accumulate is False, the behavior is undefined if indices contain duplicate "
    "elements."
)
n = 10_000
indices = torch.arange(n) % 4
updates = torch.arange(n, dtype=torch.float32)
last = tuple(updates[-4:].tolist())
results: set[tuple[float, ...]] = set()
runs = 0
while runs < 1000 and results <= {last}:
    data = torch.zeros(4)
    data[indices] = updates
    results.add(tuple(data.tolist()))
    runs += 1

expected = f"the last updates {last}, as in NumPy"
observed = f"{min(results)}, in run {runs}"
departs = results != {last}

print("release  ", "torch", torch.__version__)
print("text     ", TEXT)
print("expected ", expected)
print("observed ", observed)
sys.exit(0 if departs else 4)
