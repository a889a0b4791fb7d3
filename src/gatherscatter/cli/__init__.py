"""The command line. Each command has its own file and calls a library function.

Nothing heavy is imported here. The commands import rich and the functions when they run, which keeps
``gatherscatter --help`` fast.
"""

from __future__ import annotations

from gatherscatter.system.extras import check_installed, install_command

check_installed("the command line", ["click", "rich"], install="gatherscatter[cli]")

import click  # noqa: E402

from gatherscatter.cli import (  # noqa: E402
    apply,
    explain,
    inspect,
    library,
    ops,
    playground,
)
from gatherscatter.cli.group import CommandLine, traceback_option  # noqa: E402

main = CommandLine(
    "gatherscatter",
    sections={
        "Arrays": (apply.command, inspect.command, ops.command),
        "Understand": (explain.command, playground.command),
        "Native library": (library.command,),
    },
    elsewhere={
        "run": install_command("gatherscatter-models"),
        "doctor": install_command("gatherscatter-models"),
        "convert": install_command("gatherscatter-models"),
        "conform": install_command("gatherscatter-conformance"),
        "corpus": install_command("gatherscatter-conformance"),
        "bench": "in a clone of gatherscatter, run python -m benchmarks",
    },
    help="Run, explain and check the gather and scatter operators of ONNX and OpenVINO.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Example:
  gatherscatter ops onnx.ScatterND-18

Help for one command: gatherscatter COMMAND --help
""",
)
main = traceback_option(main)
main = click.version_option(package_name="gatherscatter", prog_name="gatherscatter")(main)
