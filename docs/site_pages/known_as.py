"""The page "Equivalents": lines of other libraries, and the same in gatherscatter.

The lines are those of known_as.toml in the package. A test runs both sides of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.messages.suggestions import read_known_as
from gatherscatter.messages.text import markdown_table
from gatherscatter.specs.table import ops


@dataclass(frozen=True)
class Library:
    """A library with its lines: what is written there, and what to write here instead.

    ``setup`` makes its names, ``into`` its arrays; on the right side, arrays stay NumPy's unless ``native``, which
    says that this package takes the library's own.
    """

    title: str
    package: str
    setup: str
    into: str
    native: bool
    lines: tuple[tuple[str, str], ...]


_KNOWN = read_known_as()
ARRAYS: str = _KNOWN["arrays"]
LIBRARIES = tuple(
    Library(**each | {"lines": tuple((theirs, ours) for theirs, ours, *_ in each["lines"])})
    for each in _KNOWN["libraries"]
    if each["lines"]
)
NUMPY = LIBRARIES[0]


def outcomes(library: Library, changes: str = "") -> Iterator[tuple[str, str, Any, Any]]:
    """Both sides of each line, and what they give. ``changes`` are statements that change the arrays."""
    for theirs, ours in library.lines:
        names = _names(library, changes)
        wanted = _outcome(theirs, names)
        # An assignment must not change the arrays of the other side.
        names = _names(library if library.native else NUMPY, changes)
        yield theirs, ours, wanted, _outcome(ours, names)


def _names(library: Library, changes: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(f"import numpy as np\nimport gatherscatter as gs\n{library.setup}\n{ARRAYS}\n{changes}", names)
    names["y"] = names["x"].copy()
    for name in [name for name, value in names.items() if isinstance(value, np.ndarray)]:
        names[name] = eval(library.into.format(name), names)
    return names


def _outcome(line: str, names: dict[str, Any]) -> Any:
    try:
        code = compile(line, line, "eval")
    except SyntaxError:
        exec(line, names)
        return names["y"]
    result = eval(code, names)
    return names["y"] if result is None or "out=y" in line else result


def pages() -> Iterator[tuple[str, str]]:
    """The page."""
    yield "known-as.md", "\n\n".join(_page())


def _page() -> Iterator[str]:
    yield "# Equivalents in other libraries"
    yield (
        "Find the line that you know, and use the one next to it. Both give the same result, and a test runs them. In "
        "lines with `y`, `y` is a copy of `x`, and the line changes it. The lines of gatherscatter change nothing "
        "unless they have `out=`. Bad, negative and repeated indices can give other results: see "
        "[differences](differences.md). There are guides for users of "
        "[NumPy](coming-from/numpy.md), [pandas](coming-from/pandas.md), "
        "[torch_scatter](coming-from/torch_scatter.md), [TensorFlow](coming-from/tensorflow.md), "
        "[JAX](coming-from/jax.md) and [einx](coming-from/einx.md)."
    )
    yield f"The lines use these arrays:\n\n```python\n{ARRAYS}```"
    for library in LIBRARIES:
        yield f"## {library.title}"
        if library.package in ("torch", "jax", "xarray"):
            yield f"gatherscatter accepts arrays of {library.title} without copying, and returns the same type."
            if library.package == "torch":
                yield "These calls refuse tensors that require a gradient: use [`gatherscatter.torch`](pytorch.md)."
            if library.package == "jax":
                yield "Under `jit`, `grad` and `vmap`, use the functions of [`gatherscatter.jax`](jax.md)."
        yield markdown_table(
            (library.title, "gatherscatter"), [(f"`{theirs}`", f"`{ours}`") for theirs, ours in library.lines]
        )
    yield "## torch_scatter"
    yield (
        "`gatherscatter.torch.segment` has the same names: `scatter(src, index, dim, dim_size=n, "
        'reduce="mean")`, `scatter_max`, `segment_csr`, `gather_coo`, `scatter_softmax` and so on. '
        "It runs on the CPU only, with gradients. [From torch_scatter](coming-from/torch_scatter.md) has examples, "
        "also for PyTorch Geometric."
    )
    yield "## ONNX, OpenVINO and ONNX Runtime"
    rows = {f"{row.domain}.{row.op_type}": row for row in ops()}
    lines = [
        (f"[{name}](ops/{name}.md)", f"`gs.{row.domain.rpartition('.')[2]}.{row.op_type}`", f"`gs.{row.kernel}`")
        for name, row in rows.items()
    ]
    yield markdown_table(("operator", "exactly as the specification says", "array function"), lines)
