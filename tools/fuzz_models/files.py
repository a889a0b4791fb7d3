"""The files of a model: the model, its weights, and the links and folders next to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple


class Link(NamedTuple):
    """A symbolic link in a model's folder."""

    target: str


class Folder(NamedTuple):
    """A folder instead of a file."""


Files = dict[str, bytes | Link | Folder]  # the first one is the model


def write_files(files: Files, folder: Path) -> Path:
    """Write the files into a new folder ``model``, next to a file that no model may read. Return the model's path."""
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "model"
    root.mkdir(parents=True)
    (folder / "secret").write_bytes(b"secret!!" * 64)
    links: Files = {"link": Link("../secret"), "up": Link(".."), "loop": Link("loop"), "folder": Folder()}
    for name, content in {**links, **files}.items():
        path = root / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, Link):
            path.symlink_to(content.target)
        else:
            path.mkdir()
    return root / next(iter(files))
