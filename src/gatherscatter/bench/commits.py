"""Other commits of this project: built once, and loaded beside the package that is measured."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "gatherscatter"
_HASH = re.compile("[0-9a-f]{7,40}")
_PLAIN_FINDERS: list[Any] = [BuiltinImporter, FrozenImporter, PathFinder]  # without that of an editable install


class Package:
    """A version of gatherscatter with its modules. Several can be in one process; they share no memory."""

    def __init__(self, modules: dict[str, ModuleType], finders: Sequence[Any]) -> None:
        self._modules = modules
        self._finders = list(finders)
        self.gs: Any = modules[_NAME]

    def activate(self) -> None:
        """Make imports find the modules of this version and no others.

        Functions of the package import modules when they are called.
        """
        global _active
        if _active is not self:
            _active._modules, _active._finders = _unload_modules(), list(sys.meta_path)
            sys.modules.update(self._modules)
            sys.meta_path[:] = self._finders
            _active = self


def _find_loaded_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == _NAME}


def _unload_modules() -> dict[str, ModuleType]:
    """Take all modules of the package out of Python's table."""
    modules = _find_loaded_modules()
    for name in modules:
        del sys.modules[name]
    return modules


CURRENT = _active = Package(_find_loaded_modules(), sys.meta_path)  # the version that is running


def find_commit(name: str) -> str:
    """The hash of a commit, ten digits of it.

    Raises
    ------
    ValueError
        There is no such commit, or this is not a clone of gatherscatter.
    """
    try:
        commit = _git("rev-parse", "--verify", "--short=10", "--end-of-options", f"{name}^{{commit}}").strip()
        project = _git("show", f"{commit}:pyproject.toml")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip()
        raise ValueError(f"commit {name!r} can't be read: {reason}; call this in a clone of {_NAME}") from None
    if f'name = "{_NAME}"' not in project:
        raise ValueError(f"commit {name!r} is not one of {_NAME}: call this in a clone of it")
    return commit


def build(commit: str) -> Path:
    """A folder with the package of a commit; it is built if that has not been done before.

    Raises
    ------
    ValueError
        The text is not the hash of a commit.
    RuntimeError
        The build fails; the text is the end of what it printed.
    """
    if not _HASH.fullmatch(commit):
        raise ValueError(f"{commit!r} is not the hash of a commit")
    target = _cache() / f"{commit}-{sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        sources, made = Path(folder, "sources"), Path(folder, "made")
        _extract(commit, sources)
        can_build = shutil.which("cmake") and all(map(find_spec, _build_modules(sources)))
        options = ["--no-build-isolation"] if can_build else []  # else pip fetches what a build needs
        command = [sys.executable, "-m", "pip", "install", "--no-deps", *options, "--target", str(made), str(sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"commit {commit} can't be built:\n{(done.stdout + done.stderr)[-2000:]}")
        try:
            made.rename(target)
        except OSError:  # another run was faster
            if not target.is_dir():
                raise
    return target


def _build_modules(sources: Path) -> list[str]:
    """The modules that a build of some sources imports."""
    settings = tomllib.loads((sources / "pyproject.toml").read_text(encoding="utf-8"))
    names = [re.split(r"[^\w-]", requirement)[0] for requirement in settings["build-system"]["requires"]]
    return [name.replace("-", "_") for name in names]


def load(folder: Path) -> Package:
    """Import the package in a folder beside the one that is running, which stays active."""
    CURRENT.activate()
    finders = list(sys.meta_path)
    before = _unload_modules()
    sys.path.insert(0, str(folder))
    sys.meta_path[:] = _PLAIN_FINDERS
    try:
        import_module(_NAME)
        return Package(_find_loaded_modules(), _PLAIN_FINDERS)
    finally:
        sys.path.remove(str(folder))
        sys.meta_path[:] = finders
        _unload_modules()
        sys.modules.update(before)


def duplicate() -> Package:
    """The version that is running, loaded once more from a copy of its files, with threads and memory of its own.

    What differs between the two is noise, and of the same kind as between two commits.
    """
    package = CURRENT.gs
    folder = Path(tempfile.mkdtemp(prefix="gatherscatter-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(package.__file__).parent, folder / _NAME, ignore=ignored)
    shutil.copy(package._core.__file__, folder / _NAME)  # which an editable install has elsewhere
    return load(folder)


def _extract(commit: str, folder: Path) -> None:
    with tempfile.TemporaryFile() as archive:
        root = _git("rev-parse", "--show-toplevel").strip()
        subprocess.run(["git", "archive", "--format=tar", commit], cwd=root, stdout=archive, check=True)
        archive.seek(0)
        with tarfile.open(fileobj=archive) as files:
            files.extractall(folder, filter="data")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base, _NAME, "commits")
