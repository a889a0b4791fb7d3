"""Register the threads of this package with threadpoolctl, in any order of the two imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from gatherscatter import _core


class _Watch(MetaPathFinder):
    """Wait for the import of threadpoolctl. Importing it here would take longer than this package itself."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname != "threadpoolctl":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        return spec and _then_register(spec, self)


def _then_register(spec: ModuleSpec, watch: _Watch) -> ModuleSpec:
    """Change the loader of a spec so that it registers gatherscatter after the import."""
    loader: Any = spec.loader

    class Loader(type(loader)):  # type: ignore[misc]
        def exec_module(self, module: Any) -> None:
            loader.exec_module(module)
            if watch in sys.meta_path:
                sys.meta_path.remove(watch)
            _register(module)

    registering = Loader.__new__(Loader)
    registering.__dict__.update(loader.__dict__)
    spec.loader = registering
    return spec


def _register(threadpoolctl: Any) -> None:
    if not hasattr(threadpoolctl, "register"):  # before version 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "gatherscatter"
        internal_api = "gatherscatter"
        filename_prefixes = ("_core.",)
        check_symbols = ("gatherscatter_num_threads",)

        def get_num_threads(self) -> int:
            return _core.num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            _core.set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(Controller)


def install() -> None:
    """Register now, or as soon as threadpoolctl is imported."""
    if "threadpoolctl" in sys.modules:
        _register(sys.modules["threadpoolctl"])
    else:
        sys.meta_path.insert(0, _Watch())
