"""The RegexFullMatch operator, in a separate process with a time limit.

The specification refers to RE2, which takes time linear in the text. The reference evaluator uses Python's ``re``. It
takes exponential time for some expressions, and no thread can interrupt it.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
from onnx.reference.op_run import OpRun

from gatherscatter_models.onnx.graph import one_line
from gatherscatter_models.onnx.time_limit import LONGEST, NodeTimeoutError, node_time_limit, timeout_text

SECONDS = 2.0  # the default limit, plus one second for every million characters
_MATCH = """
import json, re, sys
pattern, texts = json.loads(sys.stdin.buffer.read())
try:
    match = re.compile(pattern).fullmatch
except (re.error, RecursionError, OverflowError) as error:
    sys.exit(f"the pattern is not a regular expression: {error}")
sys.stdout.write("".join("1" if match(text) else "0" for text in texts))
"""


class RegexFullMatch(OpRun):
    """Tests whether an expression matches the whole of each string."""

    op_domain = ""

    def _run(self, x: np.ndarray, pattern: str | None = None) -> tuple[np.ndarray]:
        if x.dtype.kind not in "UO":
            raise TypeError(f"its input must be strings, not {x.dtype}")
        texts = [str(text) for text in x.flat]
        limit = node_time_limit.get() or SECONDS + sum(map(len, texts)) / 1e6
        return (np.array([found == "1" for found in _match(pattern or "", texts, limit)], np.bool_).reshape(x.shape),)


def _match(pattern: str, texts: list[str], seconds: float) -> str:
    """Return a 1 for each text that matches, and a 0 for each that does not."""
    # With -I and -S, no code of the user is imported, and the process starts in about 20 ms.
    command = [sys.executable, "-I", "-S", "-c", _MATCH]
    given = json.dumps([pattern, texts]).encode()
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=min(seconds, LONGEST), check=True)
    except subprocess.TimeoutExpired:
        raise NodeTimeoutError(one_line(f"{timeout_text(seconds)}; pattern {pattern!r}")) from None
    except subprocess.CalledProcessError as error:
        reason = "".join(error.stderr.decode(errors="replace").strip().splitlines()[-1:])
        raise ValueError(one_line(f"{reason}; pattern {pattern!r}")) from None
    return done.stdout.decode()
