"""Export the corpus in its own format, unpacked: corpus.json, and one file of all values for each element type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatherscatter_conformance import store
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.exported import Exported, Progress


def write(folder: Path, cases: Sequence[Case], version: str, progress: Progress) -> Exported:
    """Write a file for each member of the shipped zip."""
    for name, content in store.members(cases, version).items():
        progress(name)
        (folder / name).write_bytes(content)
    return Exported(len(cases))
