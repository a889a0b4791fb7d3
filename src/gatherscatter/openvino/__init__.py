"""The operators of OpenVINO, as their specification has them: ``GatherND(data, indices, batch_dims=1, opset=8)``.

Needs nothing but NumPy. Models in OpenVINO's own format are read without the ``openvino`` package, too.
"""

from gatherscatter.families import family

_functions = family("openvino")
globals().update(_functions)
__all__ = list(_functions)
