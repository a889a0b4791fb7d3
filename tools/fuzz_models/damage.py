"""Damage for any model file: unlikely values, changed bytes, other weights."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from tools.fuzz_models.files import Files, Folder, Link

Mutation = Callable[[Any, Files, random.Random], str]
LARGEST = 1 << 20  # bytes; a larger model is not damaged further
INTEGERS = (
    *(0, 1, -1, 2, -2, 3, 4, 7, 8, 16, 31, 63, 64, 65, 100, 127, 128, 255, 256, 1000, 65_536, 10**6, 10**9),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**33, 2**40, 2**60, 2**62, 2**63 - 1, -(2**63)),
)
FLOATS = (0.0, -0.0, 1.5, -1.0, float("nan"), float("inf"), float("-inf"), 1e300, -1e39, 1e-320)
TEXTS = (
    *("", " ", "x", "y", "X", "a\nb", "\x1b[31mred\x07", "\u202eleft", "\0", "é\u0301", "\U0001f600", "[red]", "%s"),
    *("../../etc/passwd", "/etc/passwd", "..", ".", "/", "x" * 300, "x\n" * 3000, "\u2028" * 50, "ai.onnx", "my"),
    *("0", "1", "-1", "2,3", "1" * 25, "9" * 5000, "0x10", "1_0", "\u0662", "nan", "inf", "1e400", "true", "None"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "4294967296", "?", "..", "2..1", "..."),
)
LOCATIONS = (
    *("../secret", "../../etc/passwd", "/etc/passwd", "sub/../../secret", "..\\secret", "C:\\secret", "//host/x"),
    *(
        "link",
        "up/secret",
        "loop",
        "folder",
        "none",
        "model.onnx",
        "weights.bin",
        "./weights.bin",
        "",
        ".",
        "file:///x",
    ),
    *("weights.bin\0", "~/x", "$HOME/x", "/proc/self/mem", "/dev/zero", "/dev/stdin", "x" * 5000, "a\nb"),
)
COUNTS = ("0", "1", "8", "-1", "-8", "31", "32", "33", "4096", "9" * 18, "9" * 30, "1e3", "0x10", " 8", "8 ", "+8", "")


def change_once(mutations: Sequence[Mutation], target: Any, files: Files, rng: random.Random) -> str:
    """Apply one of the mutations, and return a description of the change."""
    mutation = rng.choice(mutations)
    try:
        return mutation(target, files, rng)
    except (IndexError, KeyError, ValueError, TypeError):  # nothing of this kind, or no room for the value
        return f"{mutation.__name__} found nothing"


def damage_bytes(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Change, remove or insert some bytes, or take some from another file."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(content) + 1)
        length = min(rng.choice((1, 1, 2, 4, 16, 64)), len(content) - at)
        start = rng.randrange(len(other) + 1)
        content[at : at + length] = rng.choice(
            (
                rng.randbytes(length),
                bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + length]),
                b"",
                content[at : at + length] * 2,
                b"\xff" * rng.choice((4, 9, 10)) + b"\x01",  # a number, or a length, that is too large
                other[start : start + rng.choice((4, 32, 256))],
                b"0" + content[at : at + length],
            )
        )
    return bytes(content if rng.random() < 0.9 else content[: rng.randrange(len(content) + 1)])


def change_weights(made: Any, files: Files, rng: random.Random) -> str:
    """Cut or extend the file of weights, or replace it by a link, a folder or nothing."""
    name = next((name for name in files if name.endswith(".bin")), "weights.bin")
    data = files.get(name, bytes(64))
    data = data if isinstance(data, bytes) else bytes(64)
    cut = data[: rng.randrange(len(data) + 1)]
    files[name] = rng.choice(
        (cut, data + bytes(64), rng.randbytes(len(data)), Folder(), Link("../secret"), Link(name), Link("model.onnx"))
    )
    if rng.random() < 0.1:
        del files[name]
    return f"{name}: {str(files.get(name))[:40]}"
