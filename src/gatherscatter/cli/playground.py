"""``gatherscatter playground``: a page on which one plays with the operators."""

from __future__ import annotations

from pathlib import Path

import click

from gatherscatter.cli.files import OutputFile, WritingCommand
from gatherscatter.cli.group import traceback_option


@click.command(
    "playground",
    cls=WritingCommand,
    short_help="Write a page on which one plays with the operators.",
    epilog="""\b
Example:
  gatherscatter playground -o playground.html
""",
)
@click.option("--output", "-o", required=True, type=OutputFile(), help="The HTML file to write.")
@traceback_option
def command(output: Path) -> None:
    """Write one HTML file that shows what every operator version does with inputs that one edits.

    It needs no server and loads nothing: open it from the disk, or put it on any web site.
    """
    from gatherscatter import playground

    playground.write(output)
    click.echo(f"written: {output}")
