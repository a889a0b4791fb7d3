"""The base class of runtimes: a library, and the source code of each call with it.

The worker runs this source code on the inputs of a case, and the reproducer script contains it. So a script shows the
same result as the report.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from types import CodeType
from typing import Any, ClassVar

import numpy as np

from gatherscatter import specs
from gatherscatter.system.extras import find_missing
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.observations import Outputs
from gatherscatter_conformance.runtimes.literals import literal, modules_for


class NotAskedError(Exception):
    """The runtime cannot express this call. The text is the reason."""


class CrashedError(Exception):
    """A process of the runtime ended. The text says how."""


class Runtime:
    """A library under test.

    ``setup`` runs once in each worker: imports, and other steps that take long. ``source`` returns the lines that
    compute ``got``, a NumPy array. In these lines, the inputs are variables with the names that the op version gives
    them.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[str]  # the name under which it is installed
    modules: ClassVar[tuple[str, ...]]  # that must be installed
    setup: ClassVar[str]
    recipe: ClassVar[bool] = False  # whether it uses functions of a library that does not implement the operators

    def __init__(self) -> None:
        self._globals: dict[str, Any] = {}

    def source(self, case: Case) -> str:
        """Return the lines that compute ``got``, or raise `NotAskedError`."""
        raise NotImplementedError

    def missing(self) -> list[str]:
        """Return the modules that are not installed."""
        return find_missing(self.modules)

    def version(self) -> str:
        """Return the installed version of the package, or of a variant (-cpu, -gpu) with the same module."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return metadata.version(metadata.packages_distributions()[self.modules[0]][0])

    def supports(self, case: Case) -> str | None:
        """Return None, or the reason why the runtime can't express the case."""
        try:
            self.source(case)
        except NotAskedError as reason:
            return str(reason)
        return None

    def prepare(self) -> None:
        """Run the setup, once."""
        if not self._globals:
            exec(f"import numpy as np\n{self.setup}", self._globals)

    def run(self, case: Case, inputs: tuple[np.ndarray | None, ...]) -> Outputs:
        """Return the outputs for these inputs, which have the values of the case's inputs at any address."""
        self.prepare()
        variables = {**self._globals, **name_inputs(case, inputs)}
        exec(compile_source(self.source(case), self.name), variables)
        return (np.asarray(variables["got"]),)

    def close(self) -> None:
        """End what `prepare` started; raises `CrashedError` if that ended badly."""

    def script(self, case: Case) -> str:
        """Return a program that shows the expected and the actual result. It needs only NumPy and the runtime."""
        given = name_inputs(case, case.inputs)
        arrays = [array for array in (*given.values(), *(case.expected or ())) if array is not None]
        imports = sorted({"import numpy as np", *(f"import {module}" for module in modules_for(arrays))})
        expected = "None"
        said = f"the specification: {case.error}"
        if case.expected is not None:
            expected, said = literal(case.expected[0]), "expected"
        shown = [] if case.expected is None else [", expected.dtype, expected.shape, expected.tolist()"]
        lines = [
            f"# {case.op}: {case.id}",
            *imports,
            *self.setup.splitlines(),
            "",
            *(f"{name} = {'None' if array is None else literal(array)}" for name, array in given.items()),
            *([] if case.expected is None else [f"expected = {expected}"]),
            "",
            f'print("{said}"{"".join(shown)})',
            *self.source(case).splitlines(),
            'print("got", got.dtype, got.shape, got.tolist())',
        ]
        return "\n".join(lines) + "\n"


def row_of(case: Case) -> specs.OpVersion:
    """Return the row of a case in the table of op versions."""
    return specs.op(case.op)


def names_of(case: Case) -> tuple[str, ...]:
    """Return the names of the inputs."""
    return tuple(each.name for each in row_of(case).inputs)


def arguments(attributes: dict[str, int | str | bool]) -> str:
    """Return the attributes as keyword arguments, each after a comma."""
    return "".join(f", {name}={value!r}" for name, value in attributes.items())


def name_inputs(case: Case, inputs: tuple[np.ndarray | None, ...]) -> dict[str, np.ndarray | None]:
    """Return the inputs by name."""
    return dict(zip(names_of(case), inputs, strict=False))


@lru_cache(maxsize=256)
def compile_source(source: str, name: str) -> CodeType:
    """Compile the lines of a runtime."""
    return compile(source, f"<{name}>", "exec")
