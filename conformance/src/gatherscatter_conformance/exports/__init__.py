"""Export the corpus in formats that other projects can use without this package. docs/corpus.md describes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatherscatter.system.lazy_modules import load_place
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.exports.about import write_about
from gatherscatter_conformance.exports.exported import Exported, Progress

# Each format has its own module, so it does not need the packages of the others.
_WRITERS = {
    "onnx": ".onnx_folders:write",  # a model and its data for each case, as in ONNX's own tests
    "openvino": ".openvino_irs:write",  # an IR and its data for each case
    "npz": ".plain:write",  # an index in JSON, and one .npy for each element type
    "json": ".readable:write",  # one file with all values
}
FORMATS = tuple(_WRITERS)


def export(
    folder: Path, format: str, cases: Sequence[Case], version: str, progress: Progress | None, command: str
) -> Exported:
    """Write cases to a new folder, with a README, the licence and the version.

    Raises
    ------
    ValueError
        There is no such format.
    FileExistsError
        The folder exists and is not empty.
    ImportError
        The format needs a package that is not installed.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, not {format!r}")
    write = load_place(_WRITERS[format], __name__)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is not empty; give a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    done: Exported = write(folder, cases, version, progress or (lambda description: None))
    write_about(folder, format, done, version, command)
    return done
