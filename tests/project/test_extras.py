"""The message when an optional package is missing."""

from __future__ import annotations

import sys

import pytest

from gatherscatter.system.extras import check_installed, find_missing, require


def test_a_missing_module_is_named_with_what_to_install() -> None:
    with (
        pytest.raises(ImportError, match=r"^maps need it: pip install maps-of-it$") as error,
        require("no_such", text="maps need it", install="maps-of-it"),
    ):
        import no_such  # noqa: F401
    assert isinstance(error.value.__cause__, ModuleNotFoundError)


EXTRAS = {
    "zarr": "zarr filelock",
    "torch": "torch",
    "dask": "'dask[array]'",
    "distributed": "'dask[array]' zarr filelock distributed",
    "explain": "click jinja2 markupsafe rich resvg-py",
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_packages_of_an_extra_are_installed_without_compiling_this_one(extra: str) -> None:
    with (
        pytest.raises(ImportError) as error,
        require("no_such", text="this needs it", install=f"gatherscatter[{extra}]"),
    ):
        import no_such  # noqa: F401
    assert str(error.value) == f"this needs it: pip install {EXTRAS[extra]}"


def test_what_an_installed_module_lacks_is_not_hidden() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_dependency"),
        require("no_such", text="maps need it", install="maps"),
    ):
        import no_such_dependency  # noqa: F401


def test_modules_are_looked_for_without_importing_them() -> None:
    sys.modules.pop("this", None)
    assert find_missing(["this", "no_such"]) == ["no_such"]
    assert "this" not in sys.modules
    check_installed("the poem", ["this"])
    with pytest.raises(ImportError, match=r"^the poem needs no_such and nor_this: pip install no_such nor_this$"):
        check_installed("the poem", ["this", "no_such", "nor_this"])
