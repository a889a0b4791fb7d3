"""What a runtime is: a library, and how one writes each call with it.

The call is source text. The worker runs that very text on the case's inputs, and the reproducer script holds it, so
what a script shows is what the report says.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from types import CodeType
from typing import Any, ClassVar

import numpy as np

from gatherscatter.conformance.case import Case
from gatherscatter.conformance.observations import Outputs
from gatherscatter.conformance.runtimes.literals import literal, modules_for
from gatherscatter.extras import find_missing
from gatherscatter.specs import table


class NotAskedError(Exception):
    """The runtime has no way to say this call; the text is the reason."""


class Runtime:
    """A library under test.

    ``setup`` is run once in each worker: imports, and whatever takes long. ``source`` gives the lines that compute
    ``got``, a NumPy array, from the inputs, which are variables with the names of the op version's table row.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[str]  # as it is installed
    modules: ClassVar[tuple[str, ...]]  # that must be there
    setup: ClassVar[str]
    recipe: ClassVar[bool] = False  # not an implementation of the specification: how one would write it there

    def __init__(self) -> None:
        self._globals: dict[str, Any] = {}

    def source(self, case: Case) -> str:
        """The lines that compute ``got``; raises `NotAskedError`."""
        raise NotImplementedError

    def missing(self) -> list[str]:
        """The modules that are not installed."""
        return find_missing(self.modules)

    def version(self) -> str:
        """The installed version of the package, or of a variant (-cpu, -gpu) that brings the same module."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return metadata.version(metadata.packages_distributions()[self.modules[0]][0])

    def supports(self, case: Case) -> str | None:
        """None, or why the case can't be asked."""
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
        """The outputs for these inputs, which are those of the case wherever in memory they are."""
        self.prepare()
        variables = {**self._globals, **_name_inputs(case, inputs)}
        exec(_compile_source(self.source(case), self.name), variables)
        return (np.asarray(variables["got"]),)

    def script(self, case: Case) -> str:
        """A program that shows expected and got, with nothing but NumPy and the runtime's package."""
        given = _name_inputs(case, case.inputs)
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


def row_of(case: Case) -> table.OpVersion:
    """The case's row in the table of op versions."""
    return table.op(case.op)


def names_of(case: Case) -> tuple[str, ...]:
    """The names of the inputs."""
    return tuple(each.name for each in row_of(case).inputs)


def arguments(attributes: dict[str, int | str | bool]) -> str:
    """Attributes as keyword arguments, each after a comma."""
    return "".join(f", {name}={value!r}" for name, value in attributes.items())


def _name_inputs(case: Case, inputs: tuple[np.ndarray | None, ...]) -> dict[str, np.ndarray | None]:
    return dict(zip(names_of(case), inputs, strict=False))


@lru_cache(maxsize=256)
def _compile_source(source: str, name: str) -> CodeType:
    return compile(source, f"<{name}>", "exec")
