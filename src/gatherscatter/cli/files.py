"""The files of a command. No command overwrites its inputs. Other existing files are replaced only with --overwrite.

Every parameter that names a file has one of the types below. `WritingCommand` checks all files before it starts: the
folder of an output must exist, and an output must be new and must differ from all inputs and other outputs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from gatherscatter.cli.group import Settings
from gatherscatter.cli.help import BaseCommand


class InputFile(click.Path):
    """An existing file that is read."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def inputs(self, value: Any) -> Iterable[Path]:
        """Return the files that are read."""
        return [value]


class InputText(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """A text that can name an input file or folder: FILE, NAME=FILE, or a value instead of a file."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete file names."""
        return [CompletionItem(incomplete, type="file")]

    def inputs(self, value: str) -> Iterable[Path]:
        """Return the files that are read. Names can contain ``=``, so the file name can start after any of them."""
        parts = value.split("=")
        texts = ("=".join(parts[start:]) for start in range(len(parts)))
        return [Path(text) for text in texts if text and os.path.exists(text)]


class OutputFile(click.Path):
    """A file that is written, or a folder if the name ends in ``.zarr``.

    ``suffixes``: the suffixes that the name can have; any by default.
    ``freely``: whether an existing file is replaced without --overwrite.
    """

    def __init__(self, suffixes: Sequence[str] = (), *, freely: bool = False) -> None:
        super().__init__(path_type=Path)
        self.suffixes = suffixes
        self.freely = freely

    def outputs(self, value: Any) -> Iterable[Path]:
        """Return the files that are written."""
        return [value]


class OutputFolder(click.Path):
    """A folder that is created, or that exists and is empty."""

    freely = False

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def outputs(self, value: Any) -> Iterable[Path]:
        """Return the folder that is written."""
        return [value]


class OutputText(click.ParamType):  # type: ignore[type-arg]
    """A text that names output files. The command interprets it and calls `check_outputs` itself."""

    name = "text"
    freely = False

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete file names."""
        return [CompletionItem(incomplete, type="file")]

    def outputs(self, value: str) -> Iterable[Path]:
        """Return nothing: the files are not known yet."""
        return []


OUTPUTS = (OutputFile, OutputFolder, OutputText)


class WritingCommand(BaseCommand):
    """A command that checks all its files before it starts. It has the option --overwrite if an output needs it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if any(isinstance(one.type, OutputFile | OutputText) and not one.type.freely for one in self.params):
            self.params.append(
                click.Option(
                    ["--overwrite"],
                    is_flag=True,
                    expose_value=False,
                    callback=_remember_overwrite,
                    help="Replace existing files. Without this option, an existing file is an error.",
                )
            )

    def invoke(self, ctx: click.Context) -> Any:
        """Check the files, then run the command."""
        outputs = [(one, path) for one, value in _values(ctx, "outputs") for path in one.type.outputs(value)]
        check_outputs(ctx, outputs)
        return super().invoke(ctx)


def check_outputs(
    ctx: click.Context, outputs: Iterable[tuple[click.Parameter, Path]], folders: Sequence[Path] = ()
) -> None:
    """Raise a usage error unless all outputs can be written without data loss. The command creates ``folders``."""
    from gatherscatter.system.files import find_overwritten_input, identify_file

    outputs = list(outputs)
    taken = set()
    for parameter, path in outputs:
        _check_folder(ctx, parameter, path.parent if path.parent in folders and not path.parent.exists() else path)
        if identify_file(path) in taken:
            raise click.BadParameter(f"{path} is written twice; give another name", ctx, parameter)
        taken.add(identify_file(path))
    inputs = [path for one, value in _values(ctx, "inputs") for path in one.type.inputs(value)] if outputs else []
    for parameter, path in outputs:
        if found := find_overwritten_input([path], inputs):
            text = f"{path} would overwrite the input {found[1]}; give another name"
            raise click.BadParameter(text, ctx, parameter)
    for parameter, path in outputs:
        _check_new(ctx, parameter, path)
    for parameter, path in _values(ctx, "suffixes") if outputs else ():
        suffixes = parameter.type.suffixes
        if suffixes and path.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{path}: the name must end in {', '.join(suffixes)}", ctx, parameter)


def _check_folder(ctx: click.Context, parameter: click.Parameter, path: Path) -> None:
    """Raise a usage error if the folder of an output is missing. That is probably a typing error."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir() or not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}", ctx, parameter)
    if not path.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise click.BadParameter(f"folder {path.parent} can't be written to", ctx, parameter)


def _check_new(ctx: click.Context, parameter: click.Parameter, path: Path) -> None:
    if not path.exists() or not (path.is_file() or path.is_dir()):  # the terminal, /dev/null
        return
    if isinstance(parameter.type, OutputFolder):
        if any(path.iterdir()):
            raise click.BadParameter(f"{path} is not empty; give a folder that does not exist yet", ctx, parameter)
        return
    if path.is_dir() and not _is_zarr_array(path):
        raise click.BadParameter(f"{path} is a folder, and not an array of Zarr; give another name", ctx, parameter)
    if not (ctx.ensure_object(Settings).overwrite or parameter.type.freely):  # type: ignore[attr-defined]
        raise click.BadParameter(f"{path} exists already; --overwrite replaces it", ctx, parameter)
    if not os.access(path, os.W_OK):
        raise click.BadParameter(f"{path} can't be written to", ctx, parameter)


def _is_zarr_array(path: Path) -> bool:
    """Whether a folder is an array of Zarr, which --overwrite replaces. Groups and other folders are never replaced."""
    if path.suffix != ".zarr":
        return False
    try:
        described = json.loads((path / "zarr.json").read_bytes())
    except (OSError, ValueError):
        return (path / ".zarray").is_file() and not (path / "zarr.json").exists()
    return isinstance(described, dict) and described.get("node_type") == "array"


def _values(ctx: click.Context, what: str) -> Iterator[tuple[Any, Any]]:
    """Yield the parameters whose type has the attribute ``what``, each with every value that was given for it."""
    for one in ctx.command.params:
        value = ctx.params.get(one.name or "")
        if value is not None and hasattr(one.type, what):
            yield from ((one, each) for each in (value if isinstance(value, tuple) else (value,)))


def _remember_overwrite(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Settings).overwrite = True


def is_zarr(path: str) -> bool:
    """Whether a path names an array of Zarr, not a file."""
    return Path(path).suffix == ".zarr" or (Path(path) / "zarr.json").exists()


def open_array(path: Path, mode: Any) -> Any:
    """Open an array of Zarr."""
    if not path.exists():
        raise FileNotFoundError(2, "no such array", str(path))
    return import_zarr().open_array(path.absolute(), mode=mode)


def chunk_sizes(chunks: tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the chunk sizes that ``--chunks`` gives for an array. A single size holds for all axes."""
    if chunks is None:
        return None
    sizes = chunks * len(shape) if len(chunks) == 1 else chunks
    if len(sizes) != len(shape):
        raise click.UsageError(f"--chunks has {len(sizes)} sizes, but the array has {len(shape)} axes")
    return tuple(max(n, 1) if size == -1 else size for size, n in zip(sizes, shape, strict=True))


def import_zarr() -> Any:
    """Import the package Zarr. The error for a missing package names what to install."""
    import gatherscatter.zarr  # noqa: F401  names what to install if Zarr is missing

    return sys.modules["zarr"]
