"""The group of all commands. Expected errors and Ctrl-C are reported as one clear line on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from traceback import print_exception
from typing import Any

import click
from click.core import ParameterSource

from gatherscatter.cli.help import BaseGroup, write_commands
from gatherscatter.cli.terminal import say_error, say_interrupted
from gatherscatter.text import printable

EXPECTED = (
    click.ClickException,
    *(TypeError, ValueError, LookupError, OverflowError, ImportError, OSError, MemoryError),
    RuntimeError,  # the reference evaluator raises it for nodes outside the family
)
UNPLANNED = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
)  # this package raises subclasses; these types themselves can be a bug
FAILED = 1  # the exit code of --fail-on
EXIT_CODE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells report Ctrl-C


@dataclass
class Settings:
    """Options that all commands share. Click passes one instance through a call."""

    traceback: bool = False
    overwrite: bool = False


def _remember_traceback(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Settings).traceback = True


traceback_option = click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    is_eager=True,  # known before anything else can fail
    callback=_remember_traceback,
    help="Show the Python traceback of an error.",
)


def error_text(error: BaseException) -> str:
    """Return the message of an error as one line."""
    if isinstance(error, click.UsageError):
        command = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
        text = error.format_message().rstrip(".") + command
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory: {error}" if str(error) else "not enough memory"
    elif isinstance(error, KeyError) and error.args:
        text = str(error.args[0])  # str() of a KeyError is the repr of its text
    else:
        text = str(error) or type(error).__name__
    text = "; ".join([text, *getattr(error, "__notes__", ())])  # a model notes the node that failed
    if type(error) in UNPLANNED:
        text += " (--traceback shows where)"
    return printable(" ".join(line.strip() for line in text.splitlines() if line.strip()))


def report(error: BaseException, *, traceback: bool) -> int:
    """Print an expected error, as one line or with its traceback, and return the exit code."""
    if isinstance(error, click.UsageError) and type(error).__name__ == "NoArgsIsHelpError":  # new in click 8.2
        error.show()
    elif traceback:
        print_exception(error)
    else:
        say_error(error_text(error))
    return EXIT_CODE


class CommandLine(BaseGroup):
    """A group that turns every expected error into one line on stderr and exit code 2.

    ``sections``: the commands of each section of the help, by its title.
    """

    def __init__(self, name: str, *, sections: Mapping[str, Sequence[click.Command]], **attributes: Any) -> None:
        commands = {str(one.name): one for section in sections.values() for one in section}
        super().__init__(name, commands, **attributes)
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names in the order of the sections."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list for each section."""
        for title, commands in self._sections.items():
            write_commands(formatter, title, commands, width=max(map(len, self.commands)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Ctrl-C becomes `click.Abort` here, because click would print an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise click.Abort from stop

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line. In standalone mode (the console script) this always ends in `SystemExit`."""
        settings = extra.setdefault("obj", Settings())
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        _escape_unencodable()
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.Abort as stop:
            if not isinstance(stop.__cause__, KeyboardInterrupt):
                sys.exit(1)
            say_interrupted(getattr(stop.__cause__, "__notes__", ()))
            sys.exit(INTERRUPTED)
        except EXPECTED as error:
            sys.exit(report(error, traceback=settings.traceback))
        sys.exit(code if isinstance(code, int) else 0)


def _escape_unencodable() -> None:
    """Print characters that the terminal's encoding lacks, for example in tensor names, as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def refuse_others(ctx: click.Context, option: str, allowed: Sequence[str]) -> None:
    """Raise a usage error if options are given that have no effect together with ``option``."""
    allowed = (option, *allowed, "--overwrite", "--traceback")
    given: dict[str, str] = {}
    for parameter in ctx.command.params:
        name, text = parameter.name or "", parameter.opts[0]
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE and text not in allowed:
            given[name] = f"{given[name]} or {text}" if name in given else text
    if given:
        raise click.UsageError(f"with {option}, the file has all other options: omit {', '.join(given.values())}")
