"""Makes threadpoolctl know the threads of this package, whichever of the two is imported first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from gatherscatter import _core


class _Watch(MetaPathFinder):
    """Waits for the import of threadpoolctl: to import it for everybody would take longer than all of this package."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname != "threadpoolctl":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        return spec and _then_register(spec)


def _then_register(spec: ModuleSpec) -> ModuleSpec:
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        _register(module)

    loader.exec_module = exec_module
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
