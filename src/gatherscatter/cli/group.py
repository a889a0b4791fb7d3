"""The group of all commands. An expected error becomes one clear line on stderr and exit code 2."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from traceback import print_exception
from typing import Any

import click
from click.core import ParameterSource

from gatherscatter.text import printable

EXPECTED = (
    click.ClickException,
    *(TypeError, ValueError, LookupError, OverflowError, ImportError, OSError, MemoryError),
    RuntimeError,  # what the reference evaluator raises for nodes outside the family
)
UNPLANNED = (TypeError, ValueError, IndexError, KeyError, OverflowError)  # ours are subclasses; these may be a bug
EXIT_CODE = 2
INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for Ctrl-C


@dataclass
class Settings:
    """Choices that hold for every command; click carries one instance through a call."""

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
    help="Show Python's traceback of an error.",
)


def error_text(error: BaseException) -> str:
    """What went wrong, on one line."""
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
    text = "; ".join([text, *getattr(error, "__notes__", ())])  # a model adds which node failed
    if type(error) in UNPLANNED:
        text += " (--traceback shows where)"
    return printable(" ".join(line.strip() for line in text.splitlines() if line.strip()))


def report(error: BaseException, *, traceback: bool) -> int:
    """Print an expected error, as one line unless the traceback is asked for, and return the exit code."""
    if isinstance(error, click.UsageError) and type(error).__name__ == "NoArgsIsHelpError":  # new in click 8.2
        error.show()
    elif traceback:
        print_exception(error)
    else:
        print(f"gatherscatter: {error_text(error)}", file=sys.stderr)
    return EXIT_CODE


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
        _escape_unencodable()
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.Abort as stop:
            sys.exit(INTERRUPTED if isinstance(stop.__cause__, KeyboardInterrupt) else 1)
        except EXPECTED as error:
            sys.exit(report(error, traceback=settings.traceback))
        sys.exit(code if isinstance(code, int) else 0)


def _escape_unencodable() -> None:
    """A tensor name that the terminal's encoding can't show is printed with escapes, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def refuse_others(ctx: click.Context, option: str, allowed: Sequence[str]) -> None:
    """A usage error if there are options beside this one that would have no effect."""
    given: dict[str, str] = {}
    for parameter in ctx.command.params:
        name, text = parameter.name or "", parameter.opts[0]
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE and text not in (option, *allowed):
            given[name] = f"{given[name]} or {text}" if name in given else text
    if given:
        raise click.UsageError(f"{option} takes all other choices from the file: leave out {', '.join(given.values())}")
