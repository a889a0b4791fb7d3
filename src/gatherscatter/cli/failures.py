"""What an expected error looks like on the command line: one clear line on stderr, exit code 2."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from traceback import print_exception

import click

EXPECTED = (
    click.ClickException,
    *(TypeError, ValueError, LookupError, OverflowError, ImportError, OSError, MemoryError),
    RuntimeError,  # what the reference evaluator raises for nodes outside the family
)
UNPLANNED = (TypeError, ValueError, IndexError, KeyError, OverflowError)  # ours are subclasses; these may be a bug
EXIT_CODE = 2


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


def printable(text: str) -> str:
    """Text from a file as it may go to a terminal: control characters are shown as escapes, never obeyed."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", lambda m: repr(m[0])[1:-1], text)


def wording(error: BaseException) -> str:
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
        print(f"gatherscatter: {wording(error)}", file=sys.stderr)
    return EXIT_CODE
