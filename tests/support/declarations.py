"""Compare declarations of this package with those of another library's header."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def compare_structs(namespace: str, structs: dict[tuple[str, str], str]) -> list[str]:
    """Return conditions: fields have the same offsets and sizes. ``structs`` maps two names to pairs of fields."""
    conditions = []
    for (own, its), fields in structs.items():
        for pair in fields.split():
            ours, _, theirs = pair.partition(":")
            theirs = theirs or ours
            conditions.append(f"offsetof({namespace}::{own}, {ours}) == offsetof({its}, {theirs})")
            conditions.append(f"sizeof({namespace}::{own}::{ours}) <= sizeof({its}::{theirs})")
    return conditions


def compile_conditions(
    own: Path, header: str, include: Path, conditions: Iterable[str]
) -> subprocess.CompletedProcess[str]:
    """Compile a program that includes both headers and asserts the conditions."""
    compiler = shutil.which("c++")
    if not compiler or not (include / header).exists():
        pytest.skip(f"needs a C++ compiler and {header}")
    program = ["#include <cstddef>", f"#include <{header}>", f'#include "{own.name}"']
    program += [f"static_assert({condition});" for condition in conditions]
    folders = ["-I", str(own.parent), "-isystem", str(include)]
    command = [compiler, "-std=c++20", "-fsyntax-only", *folders, "-x", "c++", "-"]
    return subprocess.run(command, input="\n".join(program), capture_output=True, text=True, timeout=120, check=False)


def find_own_header(name: str) -> Path:
    return ROOT / "cpp" / "python" / name
