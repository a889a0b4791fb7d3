"""How messages name a node: ``ScatterND 'update_cache' (3/50)``. Names come from files, so they are made printable."""

from __future__ import annotations

from gatherscatter.onnx.extra import onnx

LONGEST_NAME, LONGEST_LINE = 100, 500


def node_label(node: onnx.NodeProto, position: int, count: int) -> str:
    """Type, name and position (counted from 1) of a node of a graph with ``count`` nodes."""
    op_type = one_line(".".join(filter(None, (node.domain, node.op_type))), LONGEST_NAME)
    name = f" {one_line(node.name, LONGEST_NAME)!r}" if node.name else ""
    return f"{op_type}{name} ({position}/{count})"


def one_line(text: object, longest: int = LONGEST_LINE) -> str:
    """The first line of a text, escaped where it isn't printable, and cut where it is too long."""
    line = next(iter(str(text).strip().splitlines()), "")
    line = line if len(line) <= longest else f"{line[:longest]}..."
    return line if line.isprintable() else line.encode("unicode_escape").decode()
