"""Write the table of operators as C++: python embed_versions.py src/gatherscatter versions.inc

The facts are in src/gatherscatter/specs/rows.py, which needs only the standard library. Stand-ins for its packages
make it importable without the compiled core.
"""

import sys
from pathlib import Path
from types import ModuleType

INPUT_KINDS = {"data": "data", "indices": "integers", "integers": "integers", "scales": "scales"}
KERNELS = {"tensor_scatter": "scatter_update"}  # kernels with another name in the C interface


def main(package: Path, target: Path) -> None:
    for name in ("gatherscatter", "gatherscatter.specs"):
        stand_in = ModuleType(name)
        stand_in.__path__ = [str(package.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = stand_in
    from gatherscatter.specs import rows

    lines = ["// Made from src/gatherscatter/specs/rows.py."]
    names = ", ".join(f'"{name}"' for name in rows.ONNX_24)
    lines.append(f"constexpr const char* type_names[] = {{{names}}};")
    operators = []
    for own in rows.OWN_ROWS:
        name = own.op_type
        inputs = ", ".join(
            f'{{"{one.name}", InputKind::{INPUT_KINDS[one.kind]}, {_flag(one.optional)}}}' for one in own.inputs
        )
        lines.append(f"constexpr InputInfo {name}_inputs[] = {{{inputs}}};")
        versions = [row for row in rows.ROWS if (row.domain, row.op_type) == ("onnx", name)]
        made = [_version(lines, row, row.version) for row in versions]
        own_version = _version(lines, own, 0)
        if made:
            lines.append(f"constexpr Version {name}_versions[] = {{{', '.join(made)}}};")
        attributes = {one.name: one for one in own.attributes}
        modes = ", ".join(f'"{mode}"' for mode in attributes["mode"].choices)
        lines.append(f"constexpr const char* {name}_modes[] = {{{modes}}};")
        kernel = f"GATHERSCATTER_{KERNELS.get(own.kernel, own.kernel).upper()}"
        axis = attributes["axis"].default if "axis" in attributes else 0
        table = f"{name}_versions" if made else "{}"
        operators.append(f'{{"{name}", {kernel}, {name}_inputs, {table}, {own_version}, {name}_modes, {axis}}}')
    lines.append("constexpr Operator all_operators[] = {\n    " + ",\n    ".join(operators) + ",\n};")
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _version(lines: list[str], row: object, number: int) -> str:
    """Return a version, and add the list of its reductions."""
    from gatherscatter.specs import rows

    element_types = sum(1 << rows.ONNX_24.index(name) for name in row.element_types)
    reductions = "{}"
    for one in row.attributes:
        if one.name == "reduction":
            reductions = f"{row.op_type}_reductions_{number}"
            words = ", ".join(f'"{word}"' for word in one.choices)
            lines.append(f"constexpr const char* {reductions}[] = {{{words}}};")
    attributes = ", ".join(one.name for one in row.attributes)
    names = {("int64",): "int64", ("int32", "int64"): "int32_and_int64", rows.INTEGERS: "integers"}
    index_types = names[row.index_types]
    return f"{{{number}, {element_types}u, IndexTypes::{index_types}, {{{attributes}}}, {reductions}}}"


def _flag(value: bool) -> str:
    return "true" if value else "false"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
