"""Optional packages: errors that name a missing package and how to install it."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata


@contextmanager
def require(*modules: str, text: str, install: str) -> Iterator[None]:
    """Guard a block that imports optional modules. If one of them is missing, the error names the package to install.

    >>> with require("no_such_module", text="this needs a module", install="gatherscatter[zarr]"):
    ...     import no_such_module
    Traceback (most recent call last):
        ...
    ImportError: this needs a module: pip install zarr filelock

    Raises
    ------
    ImportError
        One of ``modules`` is not installed. Errors within an installed module do not change.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in modules:
            raise
        raise ImportError(f"{text}: {install_command(install)}") from error


def install_command(package: str) -> str:
    """Return the command that installs a package. For an extra, it installs the packages of the extra.

    >>> install_command("hypothesis"), install_command("gatherscatter[zarr]")
    ('pip install hypothesis', 'pip install zarr filelock')
    >>> install_command("gatherscatter-conformance")
    'pip install gatherscatter-conformance (in a clone: pip install ./conformance)'
    """
    if "[" in package:  # pip would compile gatherscatter again
        return f"pip install {shlex.join(_packages_of(package))}"
    here = package.replace("gatherscatter-", "./")
    clone = f" (in a clone: pip install {here})" if here != package else ""
    return f"pip install {package}{clone}"


def _packages_of(package: str) -> list[str]:
    """Return the packages of extras of one of our distributions, from the metadata that was installed with it."""
    distribution, _, rest = package.partition("[")
    extras = re.findall(r"[\w-]+", rest)
    try:
        required = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:  # the sources alone
        return [package]
    wanted = [line for line in required for extra in extras if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    # Lower limits are omitted: pip installs the newest version of a package that is missing.
    names = [re.sub(r",?>=[^,<]*", "", line.partition(";")[0].strip()) for line in wanted]
    nested = [_packages_of(name) if re.match(r"gatherscatter[\w-]*\[", name) else [name] for name in names]
    return list(dict.fromkeys(name for group in nested for name in group))


def find_missing(modules: Sequence[str]) -> list[str]:
    """Return the modules that are not installed, without importing them.

    >>> find_missing(["math", "no_such_module"])
    ['no_such_module']
    """
    return [name for name in modules if importlib.util.find_spec(name) is None]


def check_installed(user: str, modules: Sequence[str], install: str | None = None) -> None:
    """Check that the modules that ``user`` needs are installed, without importing them.

    ``install``: the package or extra that contains them. By default, the error names the missing modules.

    Raises
    ------
    ImportError
        Some of them are not installed.
    """
    if missing := find_missing(modules):
        command = install_command(install) if install else f"pip install {shlex.join(missing)}"
        raise ImportError(f"{user} needs {' and '.join(missing)}: {command}")
