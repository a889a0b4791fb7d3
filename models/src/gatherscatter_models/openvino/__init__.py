"""Models of OpenVINO: `convert` between ONNX and IR, and `extensions` and `op_class` for OpenVINO itself."""

from typing import TYPE_CHECKING

from gatherscatter.system.lazy_modules import attach

if TYPE_CHECKING:
    from gatherscatter_models.openvino.conversion import convert as convert
    from gatherscatter_models.openvino.core_extensions import extensions as extensions
    from gatherscatter_models.openvino.extension_ops import op_class as op_class

__getattr__, __dir__ = attach(
    __name__,
    {
        "convert": ".conversion:convert",
        "extensions": ".core_extensions:extensions",
        "op_class": ".extension_ops:op_class",
    },
    needs={"extensions": ["openvino"], "op_class": ["openvino"]},
)
