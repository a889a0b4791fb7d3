"""``gatherscatter playground``: serve a page in which you can edit a call of any op version."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from threading import Thread

import click

from gatherscatter.cli.group import traceback_option


@click.command(
    "playground",
    short_help="Open a web page for trying out the operators.",
    epilog="""\b
Examples:
  gatherscatter playground
  gatherscatter playground --no-browser
""",
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
@traceback_option
def command(browser: bool) -> None:
    """Open a page where you edit the inputs of any op version, and see the call explained.

    This command serves the page on this machine until you press Ctrl-C. Other machines can't reach it, and no other
    page can make calls.
    """
    from gatherscatter.explaining.playground.server import PlaygroundServer

    with PlaygroundServer() as server, suppress(KeyboardInterrupt):
        click.echo(f"{server.address}\nCtrl-C ends the playground.")
        if browser:  # in a thread: some browsers return when they are closed
            Thread(target=webbrowser.open, args=[server.address], daemon=True).start()
        server.serve_forever()
