"""The kernels for tensors on other devices than the CPU, written once in PyTorch's operators.

A scatter sorts its updates by target, in a stable order, and reduces each run of equal targets (`runs`). All operators
that are used are deterministic, so results are bit-for-bit identical in every run.
"""
