"""Options whose value is a name from a list. The list is computed only when it is needed, which keeps help fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import click
from click.shell_completion import CompletionItem

from gatherscatter.messages.suggestions import suggest_parameter


class Word(click.Choice):  # type: ignore[type-arg]  # generic in click 8.2 and later only
    """One of a few words, which help lists. Errors suggest the word with the same meaning or a similar one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. Fail if it is not one of them."""
        try:
            return str(super().convert(value, param, ctx))
        except click.BadParameter as error:
            suggestion = suggest_parameter(str(value), map(str, self.choices))
            self.fail(error.message.rstrip(".") + suggestion, param, ctx)


class Choice(click.ParamType):  # type: ignore[type-arg]  # generic in click 8.4 only
    """One name from a list. Errors show the list, and shells complete the name.

    The name can be written with hyphens instead of spaces: out-of-range. Shells complete this form, because the other
    one needs quotes. ``name`` is the kind of thing that is named, for messages.
    """

    def __init__(self, name: str, find_names: Callable[[], Iterable[str]]) -> None:
        self.name = name
        self._find_names = find_names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Fail if it is not in the list."""
        names = {_hyphenate(name): name for name in self._find_names()}
        if (word := _hyphenate(str(value))) not in names:
            suggestion = suggest_parameter(word, names)
            self.fail(f"there is no {self.name} {value!r}; there are {', '.join(names)}{suggestion}", param, ctx)
        return names[word]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that start with ``incomplete``."""
        start = _hyphenate(incomplete)
        return [CompletionItem(word) for word in map(_hyphenate, self._find_names()) if word.startswith(start)]


def _hyphenate(name: str) -> str:
    return name.replace(" ", "-")


class OperatorName(Choice):
    """An op version, or an operator, which means its newest version. `gatherscatter.op` reports unknown names."""

    def __init__(self) -> None:
        super().__init__("operator", _operator_names)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        return str(value)


class OperatorPattern(OperatorName):
    """A pattern of op versions or operators, with ``*`` and ``?``: ``onnx.ScatterND``, ``onnx.Scatter*``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the pattern. Fail if it matches no name."""
        import gatherscatter as gs

        if not any(fnmatchcase(name, value) for name in self._find_names()):
            gs.op(value)  # raises an error that suggests a name
        return str(value)


def _operator_names() -> list[str]:
    import gatherscatter as gs

    names = [row.name for row in gs.ops()]
    return [*dict.fromkeys(name.rpartition("-")[0] for name in names), *names]


LEVELS = ("memory", "different", "refused")  # the worst first

fail_on_option = click.option(
    "--fail-on",
    type=Word(LEVELS),
    help="Exit with code 1 if a runtime does this or worse: memory (it crashes, hangs, or uses memory outside the "
    "arrays of the call), different (it returns a wrong result), refused (it refuses a legal call).",
)
