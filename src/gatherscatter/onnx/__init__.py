"""The operators of ONNX, as their specification has them: ``ScatterND(data, indices, updates, opset=18)``.

Needs nothing but NumPy. The modules that work on model files are beside it and need the ``onnx`` extra.
"""

from gatherscatter.families import family

_functions = family("onnx")
globals().update(_functions)
__all__ = list(_functions)
