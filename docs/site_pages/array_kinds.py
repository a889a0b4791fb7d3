"""The page "Arrays of other libraries": the kinds of objects, and what to write for those that are refused.

The table is array_kinds.toml in the package. A test gives each example to the functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from gatherscatter.arrays.kinds import read_libraries
from gatherscatter.messages.text import markdown_table


def pages() -> Iterator[tuple[str, str]]:
    """The page."""
    yield "arrays.md", "\n\n".join(_page())


def _page() -> Iterator[str]:
    yield "# Arrays of other libraries"
    yield (
        "Functions read every object from which nothing is lost, if possible without a copy. They refuse an object if "
        "labels, masks, missing values, units or types would be lost. The rule is the same for all libraries. The "
        "error is a TypeError, and it says what to write instead:"
    )
    yield (
        "```python\n"
        ">>> import numpy as np, gatherscatter as gs\n"
        ">>> gs.gather(np.ma.array([1.0, 2.0], mask=[False, True]), [1])\n"
        "Traceback (most recent call last):\n"
        "    ...\n"
        "gatherscatter.errors.OpTypeError: gather: data is a masked array, whose mask would be lost; use "
        "data.filled(value), or leave out the masked positions in all inputs\n"
        "```"
    )
    yield (
        "Labels matter only in inputs whose dimensions the result has: `data`, `past_cache`, `emb_table` and "
        "`step_ids`. In the tables, *as data* means these inputs. PyTorch tensors, JAX arrays, Dask arrays and other "
        "arrays with `__dlpack__` give results of the same type. Arrays of two libraries in one call are an error, "
        "except arrays of NumPy and Dask. See [Frameworks](frameworks.md)."
    )
    for library in read_libraries():
        yield f"## {library['title']}"
        rows = [
            (f"`{row['example']}`" if "example" in row else row["what"], _describe(row), _instead(row))
            for row in library["kinds"]
        ]
        yield markdown_table(("example", "is", "write instead"), rows)


def _describe(row: dict[str, str]) -> str:
    if "taken" in row:
        return f"read {row['taken']}"
    refused = "refused" if row["refused"] == "everywhere" else "refused as data"
    if "lost" in row:
        return f"{refused}: its {row['lost']} would be lost"
    return f"{refused}: {row['why'].removeprefix('which ').replace('whose', 'its')}" if "why" in row else refused


def _instead(row: dict[str, str]) -> str:
    text = row.get("instead", "")
    text += f"; for indices: {row['of_indices']}" if "of_indices" in row else ""
    return text.replace("{}", "x")
