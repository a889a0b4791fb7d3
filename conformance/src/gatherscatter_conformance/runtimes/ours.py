"""This package: op versions on arrays, and models."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.onnx_model import IMPORTS, model_source
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, arguments, names_of, row_of
from gatherscatter_models.openvino.element_types import from_dtype


class Arrays(Runtime):
    """``gs.op(name)(...)``."""

    name: ClassVar[str] = "gatherscatter"
    title: ClassVar[str] = "gatherscatter"
    package: ClassVar[str] = "gatherscatter"
    modules: ClassVar[tuple[str, ...]] = ("gatherscatter",)
    setup: ClassVar[str] = "import gatherscatter as gs"

    def source(self, case: Case) -> str:
        """One call."""
        names = names_of(case)[: len(case.inputs)]
        return f'got = gs.op("{case.op}")({", ".join(names)}{arguments(case.attributes)})\n'


class Models(Runtime):
    """``gm.run(model, inputs)``: an ONNX model in memory, an IR in a file."""

    name: ClassVar[str] = "gatherscatter-model"
    title: ClassVar[str] = "gatherscatter, models"
    package: ClassVar[str] = "gatherscatter-models"
    modules: ClassVar[tuple[str, ...]] = ("gatherscatter_models", "onnx")
    setup: ClassVar[str] = (
        "import tempfile, gatherscatter_models as gm\n"
        f"from gatherscatter_models.openvino.ir_write import IRWriter\n{IMPORTS}"
    )

    def source(self, case: Case) -> str:
        """A model of one node, and its run."""
        if row_of(case).domain != "openvino":
            return model_source(case) + 'got = gm.run(model, feeds)["output"]\n'
        if set(case.attributes) - {one.name for one in row_of(case).attributes}:
            raise NotAskedError("a layer of an IR may have attributes that its operator does not define")
        arrays = dict(zip(names_of(case), case.inputs, strict=False))
        while arrays and next(reversed(arrays.values())) is None:
            arrays.popitem()
        given = {name: array for name, array in arrays.items() if array is not None}
        lines, layers = [], []
        for name, array in arrays.items():
            if array is None:  # a layer's inputs have no gaps
                layers.append("np.array(-1, indices.dtype)")
                continue
            try:
                kind = from_dtype(array.dtype).name
            except ValueError as error:
                raise NotAskedError(str(error)) from None
            if name == "axis":
                layers.append(name)  # a constant
                continue
            lines.append(f'{name}_layer = writer.parameter("{name}", "{kind}", {list(array.shape)})')
            layers.append(f"{name}_layer")
        feeds = ", ".join(f'"{name}": {name}' for name in given if name != "axis")
        row, opset = row_of(case), 4 if case.op == "openvino.ScatterNDUpdate-3" else row_of(case).version
        return "\n".join(
            (
                "writer = IRWriter()",
                *lines,
                f'layer = writer.layer("{row.op_type}", "opset{opset}", [{", ".join(layers)}],',
                f"                     attributes={case.attributes})",
                'writer.result("output", layer)',
                "with tempfile.TemporaryDirectory() as folder:",
                f'    got = gm.run(writer.save(f"{{folder}}/model.xml"), {{{feeds}}})["output"]',
                "",
            )
        )
