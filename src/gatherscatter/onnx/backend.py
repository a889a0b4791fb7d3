"""An error that says where the backend of the onnx package is."""

from gatherscatter.system.lazy_modules import moved_error

raise moved_error(__name__, "gatherscatter_models.onnx.backend")
