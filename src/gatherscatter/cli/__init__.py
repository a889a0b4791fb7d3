"""The command line: a click group, one file per command, each a thin shell over a library function.

Nothing heavy is imported here: rich, onnx and the model readers load inside the command that needs them,
so that ``gatherscatter --help`` answers at once.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import click

from gatherscatter.cli import apply, bench, conform, convert, corpus, doctor, explain, inspect, ops, playground, run
from gatherscatter.cli.failures import EXPECTED, Settings, report, traceback_option

INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for Ctrl-C


class CommandLine(click.Group):
    """A group that turns every expected error into one line on stderr and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; in standalone mode (the console script) this always ends in `SystemExit`."""
        settings = extra.setdefault("obj", Settings())
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        _survive_narrow_encodings()
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.Abort as stop:
            sys.exit(INTERRUPTED if isinstance(stop.__cause__, KeyboardInterrupt) else 1)
        except EXPECTED as error:
            sys.exit(report(error, traceback=settings.traceback))
        sys.exit(code if isinstance(code, int) else 0)


def _survive_narrow_encodings() -> None:
    """A tensor name that the terminal's encoding can't show is printed with escapes, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@click.command(
    "gatherscatter",
    cls=CommandLine,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Example:
  gatherscatter ops onnx.ScatterND-18

Every command has its own: gatherscatter COMMAND --help
""",
)
@click.version_option(package_name="gatherscatter", prog_name="gatherscatter")
@traceback_option
def main() -> None:
    """The gather and scatter operators of ONNX and OpenVINO, on arrays and on model files."""


for _module in (apply, bench, conform, convert, corpus, doctor, explain, inspect, ops, playground, run):
    main.add_command(_module.command)
