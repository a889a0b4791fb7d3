"""Suggestions for names that do not exist: words of other libraries, and misspelled ones.

Words with the same meaning are in sentences.toml. The calls of other libraries are in known_as.toml, which is also the
source of the page "Equivalents".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from gatherscatter.messages.sentences import format_sentence, read_sentences


def suggest_choice(value: object, choices: Iterable[str], *, similar: bool = True) -> str:
    """Return the end of an error about a word that is not among the choices, or "" if none has the same meaning.

    With ``similar``, a choice that is spelled similarly is suggested as well.

    >>> suggest_choice("sum", ["none", "add", "mul"])
    "; did you mean 'add'?"
    >>> suggest_choice("dim", ["axis", "mode"])
    "; did you mean 'axis'?"
    >>> suggest_choice(sum, ["none", "add"]), suggest_choice("meann", ["min", "mean"])
    ("; did you mean 'add'?", "; did you mean 'mean'?")
    >>> suggest_choice("strange", ["none", "add"])
    ''
    """
    known = list(choices)
    same = _find_same_meaning(value, known)
    if not same and similar and isinstance(value, str):
        same = find_similar(value, known)
    return name_candidates(map(repr, same[:1]))


def _find_same_meaning(value: object, known: list[str]) -> list[str]:
    """Return the known words that have the meaning of another one."""
    groups: list[list[str]] = read_sentences()["same_meaning"]["words"]
    name = str(getattr(value, "__name__", value)).lower()  # of a function: np.add
    return [word for group in groups if name in group for word in group if word in known]


def suggest_other_choice(value: object, choices: Iterable[str], others: Mapping[str, Iterable[str]]) -> str:
    """`suggest_choice`, also for a word that is a choice of another parameter.

    >>> suggest_other_choice("mean", ["raise", "wrap"], {"reduction": ["add", "mean"]})
    "; did you mean reduction='mean'?"
    """
    if found := suggest_choice(value, choices):
        return found
    if value is True and "reduction" in others:  # `accumulate=True` of PyTorch's index_put
        return name_candidates(["reduction='add'"])
    for parameter, words in others.items():
        known = list(words)
        same = [value] if isinstance(value, str) and value in known else _find_same_meaning(value, known)
        if same and value != "none":
            return name_candidates([f"{parameter}={same[0]!r}"])
    return ""


def suggest_parameter(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown argument, or "" if none has the same meaning or a similar name.

    >>> suggest_parameter("batchdims", ["axis", "batch_dims"])
    "; did you mean 'batch_dims'?"
    """
    names = list(known)
    return suggest_choice(name, names) or name_candidates(map(repr, find_similar(name, names)[:1]))


def suggest_instead(name: str, function: str = "") -> str:
    """Return the end of an error about a parameter of other libraries that no parameter here replaces, or "".

    ``function`` is the name of the function in the error. Some functions and modules have their own advice.

    >>> suggest_instead("dtype")
    '; use astype on the result or on data'
    >>> suggest_instead("copy", "xarray.scatter")
    '; use the call without it: the result is a new object'
    """
    others = read_sentences()["other_parameters"]
    module, _, own = function.rpartition(".")
    owners = (function, own, module)
    instead = next((others[key] for owner in owners if (key := f"{owner}.{name}") in others), others.get(name))
    return format_sentence("parts", "use_instead", instead=instead) if instead else ""


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown name in a module: a similar name, or calls that replace a function.

    >>> suggest_name("scatternd", ["gather_nd", "scatter_nd"])
    "; did you mean 'scatter_nd'?"
    >>> suggest_name("take_along_dim", ["gather_elements"])
    '; instead of torch.take_along_dim(x, e, 0) write gs.gather_elements(x, e, 0)'
    """
    similar = find_similar(name, known)[:1]
    meant = name_candidates(map(repr, similar))
    return meant if similar and _letters(similar[0]) == _letters(name) else suggest_calls(name) or meant


def name_candidates(names: Iterable[str]) -> str:
    """Return the end of an error that names candidates, or "" if there are none.

    >>> name_candidates(["onnx.Gather", "openvino.Gather"])
    '; did you mean onnx.Gather or openvino.Gather?'
    """
    *others, last = [*names] or [""]
    joined = f"{', '.join(others)} or {last}" if others else last
    return format_sentence("parts", "did_you_mean", names=joined) if last else ""


def find_similar(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that resemble a name, the most similar first. Case and underscores are ignored.

    >>> find_similar("ScatterNd", ["scatter_nd", "gather_nd", "run"])
    ['scatter_nd']
    """
    by_letters: dict[str, list[str]] = {}
    for each in known:
        by_letters.setdefault(_letters(each), []).append(each)
    if not (letters := _letters(name)):
        return []
    similar = [letters] if letters in by_letters else get_close_matches(letters, by_letters, n=3, cutoff=0.8)
    return [each for close in similar for each in by_letters[close]]


def suggest_calls(name: str) -> str:
    """Return the calls that replace a function of another library, or "" if no library has the name.

    >>> suggest_calls("take_along_dim")
    '; instead of torch.take_along_dim(x, e, 0) write gs.gather_elements(x, e, 0)'

    PyTorch's names for functions that change their tensor end with an underscore:

    >>> suggest_calls("index_fill_")
    '; instead of x.index_fill_(0, i, 7) write gs.at(x)[i].set(7, out=x)'
    """
    letters, libraries = _letters(name), read_known_as()["libraries"]
    in_place = name.endswith("_")
    calls = [
        format_sentence("parts", "instead_of", theirs=theirs, ours=ours)
        for library in libraries
        for line in library["lines"]
        for theirs, ours in [_in_place(line) if in_place and library["package"] == "torch" else line[:2]]
        if letters in map(_letters, _names_of(line))
    ]
    locations = [
        name_location(f"{library['module']}.{each}")
        for library in libraries
        for each in library.get("names", ())
        if _letters(each) == letters
    ]
    return "".join([*calls[:2], *locations])


def _in_place(line: list[str]) -> tuple[str, str]:
    """Return both sides of a line of known_as.toml, with a call that changes ``x`` in place if it scatters."""
    theirs, ours = line[:2]
    if not theirs.startswith("x.") or not re.match(r"gs\.scatter_|gs\.at\(x\).*\.set\(", ours):
        return theirs, ours
    in_place = f"x.copy_({ours})" if ours.endswith(".reshape(x.shape)") else f"{ours[:-1]}, out=x)"
    return theirs.replace("(", "_(", 1), in_place


def name_location(location: str) -> str:
    """Return the end of an error about a name that another module has."""
    return format_sentence("parts", "other_location", location=location)


@lru_cache(maxsize=1)
def read_known_as() -> dict[str, Any]:
    """Read the libraries of known_as.toml, with the arrays of their lines."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("known_as.toml").read_text("utf-8"))


def _names_of(line: list[str]) -> list[str]:
    """Return the names of functions for which errors show a line of known_as.toml."""
    return [*_function_names(line[0]), *" ".join(line[2:]).split()]


def _function_names(call: str) -> Iterator[str]:
    """Find the names of the function that a line calls: "subtract" and "at" in ``np.subtract.at(x, i, v)``."""
    called = re.search(r"([\w.\]]+)\(", call)
    if called:
        *owners, last = called[1].split(".")
        yield last
        if last == "at":
            yield owners[-1]


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
