"""``gatherscatter library``: print the paths that programs need to build with the native library."""

from __future__ import annotations

import click

from gatherscatter.cli.group import traceback_option
from gatherscatter.cli.help import BaseCommand


@click.command(
    "library",
    cls=BaseCommand,
    short_help="Print the path of the native library.",
    epilog="""\b
Examples:
  gatherscatter library
  cmake -S . -B build -D gatherscatter_DIR="$(gatherscatter library --cmake)"
  cc program.c -I "$(gatherscatter library --include)" "$(gatherscatter library)" \\
    -Wl,-rpath,"$(dirname "$(gatherscatter library)")"
""",
)
@click.option("--include", "what", flag_value="include", help="Print the folder of gatherscatter.h, the C interface.")
@click.option(
    "--cmake", "what", flag_value="cmake", help="Print the folder with the package file for CMake's find_package."
)
@traceback_option
def command(what: str | None) -> None:
    """Print the path of the native library, which has the operators for ONNX Runtime and the C interface."""
    from gatherscatter.system import native_library

    find = {"include": native_library.include_folder, "cmake": native_library.cmake_folder}
    click.echo(find.get(what or "", native_library.library_path)())
