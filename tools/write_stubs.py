"""Write the type stubs of the packages of the two domains: ``python tools/write_stubs.py``.

A test checks that they are up to date.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from gatherscatter.specs import calls
from gatherscatter.specs.table import SPECIFICATIONS, TABLE

PACKAGE = Path(__file__).parents[1] / "src" / "gatherscatter"


def package_of(domain: str) -> str:
    """Return the package with the functions of a domain."""
    return domain.rpartition(".")[2]


def stub(domain: str) -> str:
    names = list(dict.fromkeys(row.op_type for row in TABLE if row.domain == domain))
    lines = ["import numpy as np", "from numpy.typing import ArrayLike", ""]
    for name in names:
        rows = [row for row in TABLE if (row.domain, row.op_type) == (domain, name)]
        lines.append(f"def {name}(")
        starred = False
        for parameter in calls.signature(rows).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
                lines.append("    *,")
                starred = True
            default = "" if parameter.default is inspect.Parameter.empty else f" = {_literal(parameter.default)}"
            lines.append(f"    {parameter.name}: {parameter.annotation}{default},")
        lines.append(") -> np.ndarray: ...")
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    for domain in SPECIFICATIONS:
        (PACKAGE / package_of(domain) / "__init__.pyi").write_text(stub(domain))
