"""The command line. Each command has its own file and calls a library function.

Nothing heavy is imported here. The commands import rich, onnx and the model readers when they run, which keeps
``gatherscatter --help`` fast.
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
    sections={
        "Models": (run.command, doctor.command, convert.command),
        "Arrays": (apply.command, inspect.command, ops.command),
        "Understand": (explain.command, playground.command),
        "Test runtimes": (conform.command, corpus.command, bench.command),
        "Native library": (library.command,),
    },
    help="Run, explain and check the gather and scatter operators of ONNX and OpenVINO, on arrays and in model files.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Example:
  gatherscatter ops onnx.ScatterND-18

Help for one command: gatherscatter COMMAND --help
""",
)
main = traceback_option(main)
main = click.version_option(package_name="gatherscatter", prog_name="gatherscatter")(main)
