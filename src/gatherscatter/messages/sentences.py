"""The sentences of errors and hints, which sentences.toml holds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any


def format_sentence(section: str, name: str, **values: object) -> str:
    """Format a sentence with its values.

    >>> format_sentence("parts", "valid", low=-2, high=1)
    'valid: -2..1'
    """
    sentence: str = read_sentences()[section][name]
    return sentence.format(**values)


@lru_cache(maxsize=1)
def read_sentences() -> dict[str, dict[str, Any]]:
    """Read all sentences, by section and name, when the first one is needed."""
    import tomllib

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
