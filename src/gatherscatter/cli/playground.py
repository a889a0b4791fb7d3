"""``gatherscatter playground``: write an interactive page for trying out the operators."""

from __future__ import annotations

from pathlib import Path

import click

from gatherscatter.cli.files import OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option


@click.command(
    "playground",
    cls=WritingCommand,
    short_help="Write an interactive web page for trying out the operators.",
    epilog="""\b
Example:
  gatherscatter playground -o playground.html
""",
)
@click.option("-o", "--output", metavar="FILE", required=True, type=OutputFile(), help="HTML file to write.")
@traceback_option
def command(output: Path) -> None:
    """Write an HTML page where you edit the inputs of any op version and see its result.

    The page is a single file that needs no server and no network. Open it from disk, or put it on any web site.
    """
    from gatherscatter import playground
    from gatherscatter.progress import Bar

    with Bar(description="writing the page"):
        playground.write(output)
    click.echo(f"written: {output}")
