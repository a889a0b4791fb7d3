"""The functions of torch_scatter under their own names: `scatter`, `segment_csr`, `scatter_softmax`, and so on.

Arguments and results are those that torch_scatter 2.1 documents. docs/pytorch.md lists the differences. Results are
bit-for-bit identical for any number of threads.

>>> import torch
>>> from gatherscatter.torch.segment import scatter, scatter_max
>>> src, index = torch.tensor([[1.0, 2.0], [5.0, 6.0], [3.0, 8.0]]), torch.tensor([1, 0, 1])
>>> scatter(src, index, dim=0, reduce="mean")
tensor([[5., 6.],
        [2., 5.]])
>>> total, number, best = scatter(src, index, dim=0, reduce=("sum", "count", "argmax"))     # in one pass
>>> total, number, best
(tensor([[ 5.,  6.],
        [ 4., 10.]]), tensor([1, 2]), tensor([[1, 1],
        [2, 2]]))
"""

from gatherscatter.errors import with_call_errors
from gatherscatter.system.lazy_modules import attach
from gatherscatter.torch.segment.composites import (
    scatter_log_softmax,
    scatter_logsumexp,
    scatter_softmax,
    scatter_std,
)
from gatherscatter.torch.segment.scatters import (
    scatter,
    scatter_add,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_mul,
    scatter_sum,
)
from gatherscatter.torch.segment.segments import (
    gather_coo,
    gather_csr,
    segment_add_coo,
    segment_add_csr,
    segment_coo,
    segment_csr,
    segment_max_coo,
    segment_max_csr,
    segment_mean_coo,
    segment_mean_csr,
    segment_min_coo,
    segment_min_csr,
    segment_sum_coo,
    segment_sum_csr,
)

__all__ = [
    "gather_coo",
    "gather_csr",
    "scatter",
    "scatter_add",
    "scatter_log_softmax",
    "scatter_logsumexp",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_mul",
    "scatter_softmax",
    "scatter_std",
    "scatter_sum",
    "segment_add_coo",
    "segment_add_csr",
    "segment_coo",
    "segment_csr",
    "segment_max_coo",
    "segment_max_csr",
    "segment_mean_coo",
    "segment_mean_csr",
    "segment_min_coo",
    "segment_min_csr",
    "segment_sum_coo",
    "segment_sum_csr",
]


for _name in __all__:
    globals()[_name] = with_call_errors(globals()[_name])

__getattr__, __dir__ = attach(__name__)
