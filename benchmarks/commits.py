"""Other commits of this project: built once, and loaded in addition to the running package."""

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
_PLAIN_FINDERS: list[Any] = [BuiltinImporter, FrozenImporter, PathFinder]  # without the finder of an editable install


class Package:
    """A version of gatherscatter with its modules. One process can hold several. They share no memory."""

    def __init__(self, modules: dict[str, ModuleType], finders: Sequence[Any]) -> None:
        self._modules = modules
        self._finders = list(finders)
        self.gs: Any = modules[_NAME]

    def activate(self) -> None:
        """Make imports find only the modules of this version.

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
    """Remove all modules of the package from ``sys.modules``, and return them."""
    modules = _find_loaded_modules()
    for name in modules:
        del sys.modules[name]
    return modules


CURRENT = _active = Package(_find_loaded_modules(), sys.meta_path)  # the running version


def find_commit(name: str) -> str:
    """Return the hash of a commit, shortened to ten digits.

    Raises
    ------
    ValueError
        The commit does not exist, or this is not a clone of gatherscatter.
    """
    try:
        commit = _git("rev-parse", "--verify", "--short=10", "--end-of-options", f"{name}^{{commit}}").strip()
        project = _git("show", f"{commit}:pyproject.toml")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip()
        raise ValueError(f"commit {name!r} cannot be read: {reason}. Run this in a clone of {_NAME}") from None
    if f'name = "{_NAME}"' not in project:
        raise ValueError(f"commit {name!r} is not a commit of {_NAME}; run this in a clone of {_NAME}")
    return commit


def build(commit: str) -> Path:
    """Return a folder with the package of a commit. Build it unless an earlier call has done so.

    Raises
    ------
    ValueError
        The text is not the hash of a commit.
    RuntimeError
        The build fails. The message has the end of its output.
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
        options = ["--no-build-isolation"] if can_build else []  # else pip downloads the build requirements
        command = [sys.executable, "-m", "pip", "install", "--no-deps", *options, "--target", str(made), str(sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"commit {commit} cannot be built:\n{(done.stdout + done.stderr)[-2000:]}")
        try:
            made.rename(target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
    return target


def _build_modules(sources: Path) -> list[str]:
    """Return the modules that a build of these sources imports."""
    settings = tomllib.loads((sources / "pyproject.toml").read_text(encoding="utf-8"))
    names = [re.split(r"[^\w-]", requirement)[0] for requirement in settings["build-system"]["requires"]]
    return [name.replace("-", "_") for name in names]


def load(folder: Path) -> Package:
    """Import the package in a folder in addition to the running one, which stays active."""
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
    """Load the running version again from a copy of its files, with separate threads and memory.

    Differences between the two are noise, of the same kind as between two commits.
    """
    package = CURRENT.gs
    folder = Path(tempfile.mkdtemp(prefix="gatherscatter-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(package.__file__).parent, folder / _NAME, ignore=ignored)
    core = Path(package._core.__file__)  # an editable install has it elsewhere, with the native library
    shutil.copy(core, folder / _NAME)
    if (core.parent / "lib").is_dir():
        shutil.copytree(core.parent / "lib", folder / _NAME / "lib", dirs_exist_ok=True)
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
