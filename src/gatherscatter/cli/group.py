"""The group of all commands, also those of other packages. Errors and Ctrl-C are one clear line on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
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
ENTRY_POINTS = "gatherscatter.commands"  # the group of entry points with which other packages add commands
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


def report(program: str, error: BaseException, *, traceback: bool) -> int:
    """Print an expected error, as one line or with its traceback, and return the exit code."""
    if isinstance(error, click.UsageError) and type(error).__name__ == "NoArgsIsHelpError":  # new in click 8.2
        error.show()
    elif traceback:
        print_exception(error)
    else:
        say_error(program, error_text(error))
    return EXIT_CODE


class Program(click.Command):
    """A command or group that turns every expected error into one line on stderr and exit code 2.

    The line begins with the name of the command.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Ctrl-C becomes `click.Abort` here, because click would print an empty line."""
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
        """Run the program. In standalone mode (the console script) this always ends in `SystemExit`."""
        settings = extra.setdefault("obj", Settings())
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        _escape_unencodable()
        name = str(self.name)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.Abort as stop:
            if not isinstance(stop.__cause__, KeyboardInterrupt):
                sys.exit(1)
            say_interrupted(name, getattr(stop.__cause__, "__notes__", ()))
            sys.exit(INTERRUPTED)
        except EXPECTED as error:
            sys.exit(report(name, error, traceback=settings.traceback))
        sys.exit(code if isinstance(code, int) else 0)


class CommandLine(Program, BaseGroup):
    """The group of all commands: those of this package, and those that other packages add.

    Another package adds a command by an entry point in the group ``gatherscatter.commands``. The name of the entry
    point is the word to type, and its object is a `click.Command`. The metadata of packages is read only for help,
    for completion, and for a word that is not one of the own commands.

    Parameters
    ----------
    name : the name of the program
    sections : the commands of each section of the help, by its title
    elsewhere : texts about commands that are not part of this package, by name
    """

    def __init__(
        self,
        name: str,
        *,
        sections: Mapping[str, Sequence[click.Command]],
        elsewhere: Mapping[str, str],
        **attributes: Any,
    ) -> None:
        commands = {str(one.name): one for section in sections.values() for one in section}
        super().__init__(name, commands, **attributes)
        self._sections = sections
        self._elsewhere = elsewhere

    @cached_property
    def _added(self) -> dict[str, EntryPoint]:
        """The entry points of other packages, by name. The own commands can't be replaced."""
        found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
        return {entry.name: entry for entry in found if entry.name not in self.commands}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names in the order of the sections. Those of other packages come last."""
        return [*self.commands, *self._added]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command. Raise an error that says what to type if it is in a package that is not installed."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in self._added:
            return _load(self._added[cmd_name])
        if cmd_name in self._elsewhere and not ctx.resilient_parsing:  # shells parse in this way for completion
            raise click.ClickException(f"{cmd_name} is not part of this package: {self._elsewhere[cmd_name]}")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list for each section."""
        width = max(map(len, self.list_commands(ctx)))
        for title, commands in self._sections.items():
            write_commands(formatter, title, commands, width=width)
        if self._added:
            added = [_describe(entry) for entry in self._added.values()]
            write_commands(formatter, "From other packages", added, width=width)


def _load(entry: EntryPoint) -> click.Command:
    """Import the command of another package. Raise an ImportError that names the package if this fails."""
    try:
        command = entry.load()
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.value} must be a click.Command, not {type(command).__name__}")
    except Exception as error:
        of = f" of {entry.dist.name}" if entry.dist else ""
        raise ImportError(f"the command {entry.name}{of} can't be imported: {error_text(error)}") from error
    return command


def _describe(entry: EntryPoint) -> click.Command:
    """Return the command for its line in the help. Help must not fail if a package is broken."""
    try:
        command = _load(entry)
    except Exception as error:
        return click.Command(entry.name, short_help=str(error))
    if command.name == entry.name:
        return command
    return click.Command(entry.name, short_help=command.get_short_help_str(200))


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
