"""Small pieces of Markdown."""

from __future__ import annotations

import re

import numpy as np

# Comments that the site replaces (transforms.py). The repository shows nothing for them.
CHOOSER = "<!-- site: chooser -->"
PRESETS = "<!-- site: presets "


def plain(text: str) -> str:
    """Text in which nothing is markup but code between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one that has no partner
        return _escaped(text)
    return "`".join(part if n % 2 else _escaped(part) for n, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>$#" else letter for letter in text)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\u4e00-\u9fff\- ]", "", heading.strip().lower()).replace(" ", "-")


def presets_comment(name: str) -> str:
    """A comment that becomes pictures of the calls that the playground offers for an op version."""
    return f"{PRESETS}{name} -->"


def session(call: str, answer: np.ndarray, before: str = "") -> str:
    """A call and its answer as a session of Python; an answer with empty lines is given as lists."""
    shown = repr(answer)
    if "\n\n" in shown:
        call, shown = f"{call}.tolist()", repr(answer.tolist())
    return f"```python\n{before}>>> {call}\n{shown}\n```"
