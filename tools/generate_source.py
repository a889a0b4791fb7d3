"""Write the sources that repeat the parameters of the array functions: python tools/generate_source.py [--check]

The table in src/gatherscatter/operation.py has the parameters, tools/docstrings.toml the texts. This writes:

- cpp/python/signatures.hpp, the parameters for the core
- the first part of src/gatherscatter/_core.pyi, the array functions
- cpp/python/docs.hpp, the docstrings of the core, from _core.pyi
- array_functions.py of the packages for torch, jax, dask and zarr
- src/gatherscatter/torch/schemas.py, the schemas of the operators of PyTorch

Only the standard library is needed. --check: write nothing, and fail if a file is not up to date.
"""

from __future__ import annotations

import ast
import itertools
import re
import string
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":  # a stand-in for the package, so that the table is imported without the compiled core
    sys.modules["gatherscatter"] = ModuleType("gatherscatter")
    sys.modules["gatherscatter"].__path__ = [str(ROOT / "src" / "gatherscatter")]

from gatherscatter.messages.choices import BAG_STATISTICS  # noqa: E402
from gatherscatter.operation import (  # noqa: E402
    FUNCTIONS,
    REQUIRED,
    Bags,
    Form,
    FunctionParameter,
    Kernel,
    Operation,
    TableLayout,
)

TEXTS: dict[str, Any] = tomllib.loads((ROOT / "tools" / "docstrings.toml").read_text("utf-8"))
NOTE = "Made by tools/generate_source.py from src/gatherscatter/operation.py"
END_OF_FUNCTIONS = "# ---- Functions for the layers above"
WIDTH = 120


# ---------------------------------------------------------------------------------------------------------- docstrings


def docstring(kernel: Kernel) -> str:
    """Write the docstring of an array function."""
    own = TEXTS[kernel]
    parts = [own["summary"].strip(), own.get("description", "").strip()]
    parts += [_section("Parameters", _parameter_lines(kernel)), _section("Returns", own["returns"].strip())]
    if "see" in own:
        raises = f"IndexError, ValueError, TypeError : see `{own['see']}`"
    else:
        raises = own.get("raises", TEXTS["shared"]["raises"]).strip()
    sources = own["sources"]
    parts += [_section("Raises", raises), f"Source{'s' * (';' in sources or ',' in sources)}: {sources}"]
    return "\n\n".join(part for part in [*parts, own["examples"].strip()] if part)


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


def _parameter_lines(kernel: Kernel) -> str:
    own, see = TEXTS[kernel]["parameters"], TEXTS[kernel].get("see")
    together = {name: key for key in own for name in key.split(", ")}
    lines, elsewhere, done = [], [], set()
    for parameter in FUNCTIONS[kernel].parameters:
        name = together.get(parameter.name, parameter.name)
        text = own.get(name) or _text_elsewhere(see, name)
        if text is None:
            elsewhere.append(name)
        elif name not in done:
            done.add(name)
            choices = "{" + ", ".join(map(repr, parameter.choices)) + "}"
            first, *more = string.Template(text.strip()).substitute(choices=choices).split("\n")
            lines += [f"{name} : {first}", *(f"    {line}" for line in more)]
    if elsewhere:
        assert see is not None, f"docstrings.toml has no text for {kernel}: {', '.join(elsewhere)}"
        lines.append(f"{', '.join(elsewhere)} : see `{see}`")
    return "\n".join(lines)


def _text_elsewhere(see: str | None, name: str) -> str | None:
    """Return a shared text. None: the docstring refers to the function ``see``, which has a long text."""
    text: str | None = TEXTS["shared"]["parameters"].get(name)
    if see is None or (text is not None and "\n" not in text):
        return text
    return None


# ------------------------------------------------------------------------------------------------------------ the core


def write_stub(stub: str) -> str:
    """Replace the first part of _core.pyi: the array functions with their docstrings."""
    kept = stub[stub.index(END_OF_FUNCTIONS) :]
    lines = [f"# {NOTE}.", "", "from collections.abc import Callable", "from typing import Any", ""]
    lines += ["import numpy as np", "from numpy.typing import ArrayLike", ""]
    lines += ["from gatherscatter.operation import Operation"]
    types = {"array": "ArrayLike", "number": "ArrayLike", "out": "np.ndarray"}
    for kernel, signature in FUNCTIONS.items():
        lines += ["", *_declaration(kernel, signature.positional, signature.by_name, types, "np.ndarray")]
        lines += _indent(docstring(kernel))
    return "\n".join(lines) + "\n\n" + kept


def _declaration(
    name: str, positional: Iterable[Any], by_name: Iterable[Any], types: dict[str, str], result: str
) -> list[str]:
    """Return the lines of ``def``, with a parameter on each."""
    lines = [f"def {name}("]
    lines += [f"    {_annotated(each, types)}," for each in positional]
    lines += ["    *,", *(f"    {_annotated(each, types)}," for each in by_name), f") -> {result}:"]
    return lines


def _annotated(parameter: FunctionParameter, types: dict[str, str]) -> str:
    annotation = types.get(parameter.name) or types.get(parameter.type, parameter.type)
    if parameter.default is REQUIRED:
        return f"{parameter.name}: {annotation}"
    if parameter.default is None and annotation not in ("Any", "None"):
        annotation += " | None"
    return f"{parameter.name}: {annotation} = {_literal(parameter.default)}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _indent(text: str) -> list[str]:
    text = _wrap(text).replace("\\", "\\\\")
    lines = f'"""{text}\n"""'.split("\n") if "\n" in text else [f'"""{text}"""']
    return [f"    {line}" if line else "" for line in lines]


def _wrap(text: str) -> str:
    """Wrap the paragraphs with lines that are too long in an indented docstring."""
    paragraphs = [list(lines) for _, lines in itertools.groupby(text.split("\n"), _find_indentation)]
    wrapped = []
    for lines in paragraphs:
        if any(len(line) > WIDTH - 4 for line in lines) and not lines[0].startswith(">>>"):
            margin = " " * (len(lines[0]) - len(lines[0].lstrip()))
            lines = textwrap.wrap(" ".join(map(str.strip, lines)), WIDTH - 4, initial_indent=margin,
                                  subsequent_indent=margin, break_long_words=False)  # fmt: skip
        wrapped += lines
    return "\n".join(wrapped)


def _find_indentation(line: str) -> int:
    """Return the indentation of a line, or -1 for an empty one."""
    return len(line) - len(line.lstrip()) if line else -1


def write_docs(stub: str) -> str:
    """Write the docstrings of all functions of the core. The first line is the signature that Python shows."""
    lines = ["// Docstrings of the functions of the core. The first line is the signature that Python shows."]
    lines += [
        "// Made by tools/generate_source.py from src/gatherscatter/_core.pyi.",
        "#pragma once",
        "",
        "// clang-format off",
    ]
    lines += ["namespace gs::docs {", ""]
    for node in ast.parse(stub).body:
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node)
            assert doc is not None, f"{node.name} has no docstring"
            lines += [
                f"inline constexpr const char* {node.name} =",
                f'    R"({_text_signature(node)}',
                "--",
                "",
                f'{doc}\n)";',
                "",
            ]
    return "\n".join([*lines, "}  // namespace gs::docs", ""])


def _text_signature(node: ast.FunctionDef) -> str:
    arguments = node.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    required = len(by_position) - len(arguments.defaults)
    parts = ["$module"] + ["/"] * (not arguments.posonlyargs)
    for n, each in enumerate(by_position):
        parts.append(each.arg if n < required else f"{each.arg}={ast.unparse(arguments.defaults[n - required])}")
    parts += ["/"] * bool(arguments.posonlyargs) + ["*"] * bool(arguments.kwonlyargs)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(each.arg if default is None else f"{each.arg}={ast.unparse(default)}")
    return f"{node.name}({', '.join(parts)})"


def write_signatures() -> str:
    """Write the parameters of the array functions and the fields of an operation as C++."""
    parameters = {each.name: None for signature in FUNCTIONS.values() for each in signature.parameters}
    fields = [*Operation._fields[2:-2], *Bags._fields, *TableLayout._fields]
    names = list(parameters | dict.fromkeys(["init", *fields]))
    listed = [_identifier(name) for name in names]
    quoted = ", ".join(f'"{name}"' for name in names)
    rows = []
    for kernel, signature in FUNCTIONS.items():
        every = [each.name for each in signature.parameters]
        required = sum(each.default is REQUIRED for each in signature.parameters)
        known = sum(1 << names.index(name) for name in every)
        counts = f"{required}, {len(signature.positional)}, {len(every)}, {known:#x}"
        rows.append(f'    {{"{kernel}", {counts}, {{{", ".join(map(_identifier, every))}}}}},')
    records = {"operation": Operation._fields[2:-2], "bags": Bags._fields, "table": TableLayout._fields}
    return _SIGNATURES.format(
        note=NOTE,
        parameters="\n".join(f"    {each}," for each in listed),
        names=quoted,
        rows="\n".join(rows),
        statistics=", ".join(f'"{name}"' for name in BAG_STATISTICS),
        records="\n".join(
            f"inline constexpr Parameter {record}_fields[] = {{{', '.join(map(_identifier, members))}}};"
            for record, members in records.items()
        ),
    )


_SIGNATURES = """// {note}.
#pragma once

#include <cstdint>
#include <iterator>

// clang-format off
namespace gs {{

namespace parameter {{
enum Parameter {{
{parameters}
    count
}};
inline constexpr const char* const names[] = {{{names}}};
static_assert(std::size(names) == count);
}}  // namespace parameter

// The parameters of an array function. The first `positional` can be passed by position, and the first `required` must
// be passed.
struct Signature {{
    const char* function;
    int required, positional, total;
    uint32_t known;  // a bit for each parameter
    parameter::Parameter parameters[parameter::count];
}};

namespace parameter {{
inline constexpr Signature signatures[] = {{
{rows}
}};

// The parameters in the fields of the records of gatherscatter.operation.
{records}
}}  // namespace parameter
using parameter::Parameter;
using parameter::signatures;

// The reductions of gather_reduce that Python computes.
inline constexpr const char* bag_statistics[] = {{{statistics}}};

}}  // namespace gs
"""


def _identifier(name: str) -> str:
    return {"default": "default_value"}.get(name, name)


# ------------------------------------------------------------------------------------------------- other libraries


@dataclass(frozen=True)
class Library:
    """The package with the array functions for another library.

    Attributes
    ----------
    name : the name of the package
    title : the first line of the docstring of the module, and what follows it
    imports : the imports of the module
    result : the annotation of results
    types : the annotations of parameters, by name or by type
    phrase : the words about the array function in memory, which follow the summary
    kernels : the functions
    without : the parameters that no function has
    not_of_bags : the parameters that ``gather_reduce`` does not have
    more : the parameters that the functions also have
    """

    name: str
    title: str
    imports: str
    result: str
    types: dict[str, str]
    phrase: str
    kernels: tuple[Kernel, ...]
    without: frozenset[str] = frozenset()
    not_of_bags: frozenset[str] = frozenset()
    more: tuple[FunctionParameter, ...] = ()

    def write(self) -> str:
        """Write the module."""
        lines = [f'"""{self.title}', "", f"{NOTE}.", '"""', "", "from __future__ import annotations", ""]
        lines += self.imports.strip().split("\n")
        lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(self.kernels)), "]"]
        for kernel in self.kernels:
            lines += ["", "", "@with_call_errors", *self._function(kernel)]
        return "\n".join(lines) + "\n"

    def _function(self, kernel: Kernel) -> Iterator[str]:
        positional, by_name = self._select(kernel)
        yield from _declaration(kernel, positional, by_name, self.types, self._find_result(kernel))
        yield from _indent(self._docstring(kernel))
        names = [each.name for each in (*positional, *by_name)]
        yield from _call("    operation = ", "Operation", [f'"{kernel}"', f"Kernel.{kernel.name}", *_fields(names)])
        yield from self._body(kernel, names)

    def _find_result(self, kernel: Kernel) -> str:
        return self.result

    def _select(self, kernel: Kernel) -> tuple[list[FunctionParameter], list[FunctionParameter]]:
        """Return the parameters of a function: those that can be given by position, and the others."""
        signature, without = FUNCTIONS[kernel], set(self.without)
        if kernel == Kernel.GATHER_REDUCE:
            without |= {"scales", "zero_points", *TableLayout._fields, *self.not_of_bags}
        positional, by_name = (
            [each for each in part if each.name not in without] for part in (signature.positional, signature.by_name)
        )
        return positional, [*by_name, *self.more]

    def _docstring(self, kernel: Kernel) -> str:
        own = TEXTS[self.name][kernel]
        first = re.split(r"[.:] ", TEXTS[kernel]["summary"].strip())[0].rstrip(".")
        summary = f"{first}{self.phrase.format(kernel)}"
        if len(summary) > WIDTH - 7:
            rest = self.phrase.format(kernel).lstrip(", ")
            summary = "\n".join([f"{first}.", "", *textwrap.wrap(f"{rest[0].upper()}{rest[1:]}", WIDTH - 4)])
        source = f"Source: as `gatherscatter.{kernel}`."
        return "\n\n".join(
            part for part in (summary, own.get("note", "").strip(), source, own["examples"].strip()) if part
        )

    def _body(self, kernel: Kernel, names: list[str]) -> Iterator[str]:
        inputs = [f'"{name}": {name}' for name in FUNCTIONS[kernel].inputs if name in names]
        yield from _call("    inputs = ", "", inputs, "{}")
        rest = [name for name in ("plan", "out") if name in names]
        function = "reduce" if kernel.form == Form.BAGS else "run"
        yield f"    return {function}({', '.join(['operation', 'inputs', *rest])})"


class Stored(Library):
    """The functions on stored arrays. They have separate options, and scatters work in place."""

    def _find_result(self, kernel: Kernel) -> str:
        return "Report" if kernel.is_scatter else "Any"

    def _select(self, kernel: Kernel) -> tuple[list[FunctionParameter], list[FunctionParameter]]:
        positional, by_name = super()._select(kernel)
        of_jobs = ("job", "resume")
        unknown = {"out"} if kernel.is_scatter else set(of_jobs)
        positional[0] = FunctionParameter("array", "StoredOrPath")
        return positional, [each for each in by_name if each.name not in unknown]

    def _body(self, kernel: Kernel, names: list[str]) -> Iterator[str]:
        terms = ["num_threads", *(each.name for each in self.more if each.name in names)]
        yield from _call("    terms = ", "Terms", [f"{name}={name}" for name in terms])
        if kernel.is_scatter:
            yield "    return run_scatter(operation, array, indices, updates, terms)"
        else:
            yield "    return run_gather(operation, array, indices, out, terms)"


def _fields(names: list[str]) -> list[str]:
    """Return the arguments that set the fields of an `Operation` from the parameters of a function.

    The first fields are set by position, which makes an operation twice as fast.
    """
    bags = ["bags=Bags(num_segments)"] if "num_segments" in names else []
    fields = Operation._fields[2:]
    first = list(itertools.takewhile(names.__contains__, fields))
    return [*first, *(f"{name}={name}" for name in fields[len(first) :] if name in names), *bags]


def _call(start: str, function: str, arguments: list[str], brackets: str = "()") -> Iterator[str]:
    """Yield a call on one line, or with an argument on each line."""
    line = f"{start}{function}{brackets[0]}{', '.join(arguments)}{brackets[1]}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{start}{function}{brackets[0]}"
    yield from (f"        {each}," for each in arguments)
    yield f"    {brackets[1]}"


MOVES = tuple(kernel for kernel in FUNCTIONS if kernel.form != Form.BAGS and kernel != Kernel.GATHER_QUANTIZED)
_RECORDS = "from gatherscatter.operation import Bags, Kernel, Operation"
LIBRARIES = (
    Library(
        "torch",
        "The array functions for PyTorch, with gradients.",
        f"""
from typing import Any

from torch import Tensor

from gatherscatter.errors import with_call_errors
{_RECORDS}
from gatherscatter.torch.bags import reduce
from gatherscatter.torch.functions import run
""",
        "Tensor",
        {"data": "Tensor", "array": "Any", "out": "Tensor", "default": "complex"},
        ", as `gatherscatter.{}` does, with the same arguments and errors.",
        (*MOVES, Kernel.GATHER_REDUCE),
        not_of_bags=frozenset(["out"]),
    ),
    Library(
        "jax",
        "The array functions for JAX, with gradients. They work in compiled programs.",
        f"""
from typing import Any

import jax

from gatherscatter.errors import with_call_errors
from gatherscatter.jax.functions import reduce, run
{_RECORDS}
""",
        "jax.Array",
        {"array": "Any", "number": "Any"},
        ", as `gatherscatter.{}` does, with the same arguments and errors.",
        (*MOVES, Kernel.GATHER_REDUCE),
        without=frozenset(["out"]),
    ),
    Library(
        "dask",
        "The array functions for Dask. They are lazy.",
        """
from typing import Any

from dask.array import Array

from gatherscatter.dask.bags import reduce
from gatherscatter.dask.graphs import run
from gatherscatter.errors import with_call_errors
from gatherscatter.operation import Bags, Kernel, Operation
""",
        "Array",
        {"array": "Any", "number": "Any", "out": "None"},
        ", lazily, as `gatherscatter.{}` does in memory.",
        (*MOVES, Kernel.GATHER_REDUCE),
        more=(FunctionParameter("plan", "str", "lazy"),),
    ),
    Stored(
        "zarr",
        "The array functions for stored arrays of Zarr.",
        """
from typing import Any

from numpy.typing import ArrayLike

from gatherscatter.errors import with_call_errors
from gatherscatter.operation import Kernel, Operation
from gatherscatter.zarr.call import Progress, Report, StoredOrPath, Terms
from gatherscatter.zarr.gather import run as run_gather
from gatherscatter.zarr.scatter import run as run_scatter
""",
        "Any",
        {"indices": "ArrayLike", "updates": "ArrayLike", "out": "Any", "progress": "bool | Progress"},
        ", as `gatherscatter.{}` does, in a stored array.",
        MOVES,
        more=(
            FunctionParameter("workers", "int", 4),
            FunctionParameter("memory_limit", "int", None),
            FunctionParameter("lock_timeout", "float", None),
            FunctionParameter("progress", "bool", False),
            FunctionParameter("dry_run", "bool", False),
            FunctionParameter("job", "str", None),
            FunctionParameter("resume", "bool", None),
        ),
    ),
)


def write_schemas() -> str:
    """Write the schemas of the operators of PyTorch. They have no ``out``, and new tensors as results."""
    types = {"array": "Tensor", "number": "Scalar", "num_segments": "SymInt"}
    lines = ['"""The schemas of the operators of PyTorch.', "", f"{NOTE}.", '"""', "", "SCHEMAS = {"]
    library = next(each for each in LIBRARIES if each.name == "torch")
    for kernel in library.kernels:
        arrays, options = [], []
        positional, by_name = library._select(kernel)
        for parameter in (*positional, *by_name):
            text = _schema(parameter, types)
            if parameter.type == "array" or parameter in positional:
                arrays.append(text)
            elif parameter.type != "out":
                options.append(text)
        text = f"({', '.join(arrays)}, *, {', '.join(options)}) -> Tensor"
        parts = textwrap.wrap(text, WIDTH - 12, drop_whitespace=False, break_long_words=False)
        lines += [f'    "{kernel}": (', *(f'        "{part}"' for part in parts), "    ),"]
    return "\n".join([*lines, "}", ""])


def _schema(parameter: FunctionParameter, types: dict[str, str]) -> str:
    kind = types.get(parameter.name) or types.get(parameter.type, parameter.type)
    if parameter.default is REQUIRED:
        return f"{kind} {parameter.name}"
    optional = "?" if parameter.default is None else ""
    return f"{kind}{optional} {parameter.name}={parameter.default!r}"


# --------------------------------------------------------------------------------------------------------------- files


def write_sources() -> dict[Path, str]:
    """Return the text of each file."""
    package = ROOT / "src" / "gatherscatter"
    stub = write_stub((package / "_core.pyi").read_text("utf-8"))
    return {
        package / "_core.pyi": stub,
        ROOT / "cpp" / "python" / "docs.hpp": write_docs(stub),
        ROOT / "cpp" / "python" / "signatures.hpp": write_signatures(),
        package / "torch" / "schemas.py": write_schemas(),
        **{package / each.name / "array_functions.py": each.write() for each in LIBRARIES},
    }


def main(arguments: list[str]) -> int:
    """Write the files that are not up to date. Return 1 if there are any and ``--check`` is given."""
    old = [
        (path, text) for path, text in write_sources().items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in old:
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is not up to date: run python tools/generate_source.py")
        else:
            path.write_text(text, "utf-8")
    return int(bool(old) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
