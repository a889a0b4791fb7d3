"""Turn errors of the native library, which pass through ONNX Runtime as text, into the exceptions of this package."""

from __future__ import annotations

import re

from gatherscatter.errors import KINDS, OpError

# "... while running ScatterND node. Name:'sums' Status Message: IndexError: onnx.ScatterND-18: indices[0] = 5 is ..."
_TEXT = re.compile(
    r"running (?P<op_type>\w+) node\. Name:'(?P<name>(?:(?! node\. Name:').)*)' Status Message: "
    rf"(?P<kind>{'|'.join(KINDS)}): (?P<sentence>(?P<op>(?:onnx|gatherscatter)\.[\w-]+): .*)",
    re.DOTALL,
)


def read_error(text: str) -> OpError | None:
    """Return the error in a message of ONNX Runtime, with a note that names the node; None if it has another source.

    >>> error = read_error("... while running ScatterND node. Name:'sums' Status Message: IndexError: "
    ...                    "onnx.ScatterND-18: indices[0, 0] = 5 is out of range")
    >>> error
    OpIndexError('onnx.ScatterND-18: indices[0, 0] = 5 is out of range')
    >>> error.op, error.__notes__
    ('onnx.ScatterND-18', ["in node ScatterND 'sums'"])
    """
    found = _TEXT.search(text)
    if found is None:
        return None
    error = KINDS[found["kind"]](found["sentence"], op=found["op"])
    error.add_note(f"in node {found['op_type']} {found['name']!r}")
    return error
