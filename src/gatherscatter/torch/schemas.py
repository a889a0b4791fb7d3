"""The schemas of the operators of PyTorch.

Made by tools/generate_source.py from src/gatherscatter/operation.py.
"""

SCHEMAS = {
    "gather": (
        "(Tensor data, Tensor indices, int axis=0, *, int batch_dims=0, str mode='raise', str negative='end', int? "
        "num_threads=None) -> Tensor"
    ),
    "gather_elements": (
        "(Tensor data, Tensor indices, int axis=0, *, str mode='raise', str negative='end', int? num_threads=None) ->"
        " Tensor"
    ),
    "gather_nd": (
        "(Tensor data, Tensor indices, *, int batch_dims=0, str mode='raise', str negative='end', int? "
        "num_threads=None) -> Tensor"
    ),
    "scatter_update": (
        "(Tensor data, Tensor indices, Tensor updates, int axis=0, *, str reduction='none', bool include_self=True, "
        "str accumulate='step', str mode='raise', str negative='end', int? num_threads=None) -> Tensor"
    ),
    "scatter_elements": (
        "(Tensor data, Tensor indices, Tensor updates, int axis=0, *, str reduction='none', bool include_self=True, "
        "str accumulate='step', str mode='raise', str negative='end', int? num_threads=None) -> Tensor"
    ),
    "scatter_nd": (
        "(Tensor data, Tensor indices, Tensor updates, *, str reduction='none', bool include_self=True, str "
        "accumulate='step', str mode='raise', str negative='end', int? num_threads=None) -> Tensor"
    ),
    "gather_reduce": (
        "(Tensor data, Tensor? indices=None, Tensor? offsets=None, Tensor? segment_ids=None, Tensor? indptr=None, "
        "Tensor? weights=None, *, SymInt? num_segments=None, str reduction='add', Scalar default=0, str "
        "accumulate='step', str mode='raise', str negative='end', int? num_threads=None) -> Tensor"
    ),
}
