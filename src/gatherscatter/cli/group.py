"""The group of all commands, also those of other packages. Errors and Ctrl-C are one clear line on stderr."""

from __future__ import annotations

import _thread
import io
import signal
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import EntryPoint, entry_points
from traceback import print_exception
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from click.core import ParameterSource

from gatherscatter.cli.help import BaseGroup, write_commands
from gatherscatter.cli.terminal import say_error, say_interrupted
from gatherscatter.messages.suggestions import name_candidates
from gatherscatter.messages.text import printable

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
try:
    from lzma import LZMAError
except ImportError:  # Python can be built without this module
    LZMAError = zlib.error  # type: ignore[assignment, misc]

EXPECTED = (
    click.ClickException,
    *(TypeError, ValueError, LookupError, OverflowError, ImportError, OSError, MemoryError),
    RuntimeError,  # the reference evaluator raises it for nodes outside the family
)
DAMAGED = (EOFError, zlib.error, LZMAError)  # decompressors raise these
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
_EXTENSION_IMPORTS = {ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__}


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


class CtrlC:
    """A block in which Ctrl-C raises `KeyboardInterrupt`. ``pressed`` tells whether this has happened.

    In the process of the command line, Ctrl-C has this effect only while a command runs. While Python imports modules
    and while it ends, it would print a traceback. There, SIGINT has its default effect, which ends the process silently
    (`gatherscatter.__main__`). Nothing changes if SIGINT is ignored, or if another program has set a handler.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._is_active = False
        self._handler: Any = None
        self._hook = sys.unraisablehook

    def __enter__(self) -> Self:
        self._handler = signal.getsignal(signal.SIGINT)
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and self._handler in (signal.SIG_DFL, signal.default_int_handler):
            self._is_active = True
            self._hook, sys.unraisablehook = sys.unraisablehook, self._treat_unraisable
            signal.signal(signal.SIGINT, self._raise)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._is_active:
            self._is_active = False  # so that `signal.signal` does not raise, which would keep the handler
            signal.signal(signal.SIGINT, self._handler)
            sys.unraisablehook = self._hook

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self._is_active:
            self.pressed = True
            if _initializes_extension(frame):
                _interrupt_later()
            else:
                raise KeyboardInterrupt

    def _treat_unraisable(self, unraisable: UnraisableHookArgs) -> None:
        """Raise a `KeyboardInterrupt` again that a destructor or a callback has raised. Python would drop it."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            _interrupt_later()
        else:
            self._hook(unraisable)


def _initializes_extension(frame: FrameType | None) -> bool:
    """Whether an extension module is being imported. Some of them crash if an exception is raised meanwhile."""
    while frame is not None:
        if frame.f_code in _EXTENSION_IMPORTS:
            return True
        frame = frame.f_back
    return False


def _interrupt_later() -> None:
    """Call the handler again in 10 ms."""
    _thread.start_new_thread(_interrupt, (0.01,))


def _interrupt(delay: float) -> None:
    time.sleep(delay)
    _thread.interrupt_main()


class Program(click.Command):
    """A command or group that turns every expected error into one line on stderr and exit code 2.

    The line begins with the name of the command.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments."""
        with _translate_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _translate_errors():
            return super().invoke(ctx)

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
        ctrl_c = CtrlC()
        try:
            with ctrl_c:
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except (Exception, KeyboardInterrupt) as error:
            stop = _find_interrupt(error)
            if stop is not None or (ctrl_c.pressed and not isinstance(error, EXPECTED)):
                say_interrupted(name, getattr(stop, "__notes__", ()))
                sys.exit(INTERRUPTED)
            if isinstance(error, click.Abort):
                sys.exit(1)
            if not isinstance(error, EXPECTED):
                raise
            sys.exit(report(name, error, traceback=settings.traceback))
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Replace the exceptions for which click prints an empty line, and those about damaged files."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise click.Abort from stop
    except DAMAGED as error:
        raise click.ClickException(f"a file is damaged or incomplete: {str(error) or type(error).__name__}") from error


def _find_interrupt(error: BaseException) -> KeyboardInterrupt | None:
    """Return the `KeyboardInterrupt` that an error is or comes from."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause


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
        """Return a command. Raise an error that says what to type instead if there is none."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in self._added:
            return _load(self._added[cmd_name])
        if cmd_name in self._elsewhere and not ctx.resilient_parsing:  # shells parse in this way for completion
            raise click.ClickException(f"{cmd_name} is not part of this package: {self._elsewhere[cmd_name]}")
        if ctx.resilient_parsing:
            return None
        similar = get_close_matches(cmd_name, [*self.list_commands(ctx), *self._elsewhere], 1)
        raise click.UsageError(f"No such command {cmd_name!r}{name_candidates(map(repr, similar))}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list for each section."""
        width = max(map(len, self.list_commands(ctx)))
        for title, commands in self._sections.items():
            write_commands(formatter, title, commands, width=width)
        packages: dict[str, list[click.Command]] = {}
        for entry in self._added.values():
            packages.setdefault(entry.dist.name if entry.dist else "other packages", []).append(_describe(entry))
        for name, commands in packages.items():
            write_commands(formatter, f"From {name}", commands, width=width)


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
