"""The corpus: thousands of calls of all op versions, with the answers of the specification.

The answers come from `gatherscatter.oracle`, the specification's pseudo-code in plain Python. They never come
from the kernels of gatherscatter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path

from gatherscatter_conformance import exports, store
from gatherscatter_conformance.case import KINDS, Case, same
from gatherscatter_conformance.exports.exported import Exported

__all__ = ["FILE", "KINDS", "VERSION", "Case", "case", "cases", "export", "same"]

VERSION = "1.3"
"""The first number increases when an answer changes, the second when cases are added or leave more open."""

FILE = "corpus.zip"


def cases(
    pattern: str = "*",
    *,
    op: str | None = None,
    type: str | None = None,
    reduction: str | None = None,
    kind: str | None = None,
    rule: str | None = None,
) -> list[Case]:
    """Return the cases whose id matches a pattern and that have the given properties.

    A pattern contains ``*`` and ``?``. A ``*`` also matches slashes. ``op`` is an op version, or an operator for all
    its versions.

    >>> from gatherscatter_conformance import corpus
    >>> len(corpus.cases("onnx/ScatterND-18/*", type="float32", reduction="add")) > 5
    True
    """

    def fits(one: Case) -> bool:
        return (
            fnmatchcase(one.id, pattern)
            and (op is None or one.op == op or one.op.rpartition("-")[0] == op)
            and type in (None, one.type)
            and reduction in (None, one.reduction)
            and kind in (None, one.kind)
            and (rule is None or rule in one.rules)
        )

    return [one for one in _read() if fits(one)]


def case(id: str) -> Case:
    """Return the case with an id.

    Raises
    ------
    LookupError
        There is no such case.
    """
    try:
        return _by_id()[id]
    except KeyError:
        raise LookupError(f"there is no case {id!r}; `gatherscatter corpus list` has all ids") from None


def export(
    folder: str | os.PathLike[str],
    format: str = "onnx",
    *,
    cases: Sequence[Case] | None = None,
    progress: Callable[[str], None] | None = None,
    command: str | None = None,
) -> Exported:
    """Write cases, by default all, in a format that can be read without gatherscatter. Add README.md and LICENSE.

    Parameters
    ----------
    folder : an empty folder, or one that does not exist yet
    format : "onnx", "openvino", "npz" or "json"; docs/corpus.md describes them
    cases : default: all cases
    progress : called with a description before each case
    command : the command that made the folder, for its README; default: this call

    Returns
    -------
    Exported
        ``written`` is the number of cases. ``skipped`` has numbers of cases by reason.

    Raises
    ------
    ValueError
        There is no such format.
    FileExistsError
        The folder is not empty.
    ImportError
        ``format="onnx"`` needs the onnx package.

    >>> import tempfile
    >>> from gatherscatter_conformance import corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corpus.export(folder, "json", cases=corpus.cases(op="onnx.GatherND-11", kind="k=0")).written
    12
    """
    made_by = command or f'corpus.export("{Path(folder).name}", "{format}")'
    return exports.export(Path(folder), format, _read() if cases is None else cases, VERSION, progress, made_by)


@cache
def _read() -> tuple[Case, ...]:
    with resources.files(__package__).joinpath("data", FILE).open("rb") as file:
        return tuple(store.load(file)[1])


@cache
def _by_id() -> dict[str, Case]:
    return {one.id: one for one in _read()}
