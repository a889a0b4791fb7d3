"""Record the files, sockets and processes that are opened while a model is read."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx


class Watch:
    """Records the files that are opened outside of the model's folder and of Python's own folders."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.found: list[str] = []
        own = (sys.prefix, sys.base_prefix, *sys.path[1:], Path(__file__).parents[2], Path(onnx.__file__).parent)
        self.allowed = (*(os.path.realpath(path) for path in own if str(path)), os.devnull)
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith((self.folder, *self.allowed)):
                self.found.append(f"opened {path}")
        elif event == "subprocess.Popen" and arguments[0] == sys.executable:
            pass  # gatherscatter's process for regular expressions
        elif event.split(".")[0] in ("socket", "subprocess", "pickle", "shutil") or event in ("os.system", "os.remove"):
            self.found.append(event)

    @contextlib.contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        self.found, self.folder = [], os.path.realpath(folder) + os.sep
        try:
            yield
        finally:
            self.folder = None
