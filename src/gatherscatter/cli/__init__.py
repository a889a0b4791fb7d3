"""The command line: a click group, one file per command, each a thin shell over a library function.

Nothing heavy is imported here: rich, onnx and the model readers load inside the command that needs them,
so that ``gatherscatter --help`` answers at once.
"""

from __future__ import annotations

import click

from gatherscatter.cli import (
    apply,
    bench,
    conform,
    convert,
    corpus,
    doctor,
    explain,
    inspect,
    library,
    ops,
    playground,
    run,
)
from gatherscatter.cli.group import CommandLine, traceback_option

main = CommandLine(
    "gatherscatter",
    help="The gather and scatter operators of ONNX and OpenVINO, on arrays and on model files.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Example:
  gatherscatter ops onnx.ScatterND-18

Every command has its own: gatherscatter COMMAND --help
""",
)
main = traceback_option(main)
main = click.version_option(package_name="gatherscatter", prog_name="gatherscatter")(main)
for _module in (apply, bench, conform, convert, corpus, doctor, explain, inspect, library, ops, playground, run):
    main.add_command(_module.command)
