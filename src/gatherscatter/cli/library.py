"""``gatherscatter library``: where the native library is, and what programs need to build with it."""

from __future__ import annotations

import click

from gatherscatter.cli.group import traceback_option


@click.command(
    "library",
    short_help="Print where the native library is.",
    epilog="""\b
Examples:
  gatherscatter library
  cmake -S . -B build -D gatherscatter_DIR="$(gatherscatter library --cmake)"
  cc program.c -I "$(gatherscatter library --include)" "$(gatherscatter library)"
""",
)
@click.option("--include", "what", flag_value="include", help="The folder of gatherscatter.h, the C interface.")
@click.option("--cmake", "what", flag_value="cmake", help="The folder of the package file for CMake's find_package.")
@traceback_option
def command(what: str | None) -> None:
    """Print the path of the library: the operators for ONNX Runtime, and the C interface."""
    from gatherscatter import native_library

    find = {"include": native_library.include_folder, "cmake": native_library.cmake_folder}
    click.echo(find.get(what or "", native_library.library_path)())
