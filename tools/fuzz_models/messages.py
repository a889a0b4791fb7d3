"""Check that an error has an expected type, and that its message is one short line."""

from __future__ import annotations

LONGEST = 1000  # characters of a message


def check_one_line(text: str, where: str) -> list[str]:
    """List the faults of a message: several lines, unprintable characters, too long."""
    found = []
    if len(text.splitlines()) != 1:
        found.append(f"{where} of {len(text.splitlines())} lines: {text[:200]!r}")
    elif not text.isprintable():
        found.append(f"{where} not printable: {text[:200]!r}")
    if len(text) > LONGEST:
        found.append(f"{where} of {len(text)} characters: {text[:100]!r}")
    return found


def check_error(error: Exception, stage: str) -> list[str]:
    """List the faults of an error from loading or running a model."""
    from gatherscatter.cli.group import EXPECTED, error_text
    from gatherscatter.errors import OpError
    from gatherscatter_models.interface import ModelError

    name = type(error).__name__
    if isinstance(error, MemoryError) and stage == "load":
        return [f"load required memory: {error}"]
    if stage == "load" and not isinstance(error, ModelError):
        return [f"{name} from load: {str(error)[:200]!r}"]
    if not isinstance(error, EXPECTED):
        return [f"{name} from run: {str(error)[:200]!r}"]
    notes = list(getattr(error, "__notes__", ()))
    own = "message" if isinstance(error, ModelError | OpError) else f"message of {name}"
    faults = check_one_line(str(error) or name, own)
    faults += [fault for note in notes for fault in check_one_line(note, "note")]
    return faults + check_one_line(error_text(error), "command's line")
