"""What runtimes do with the gather and scatter nodes of a model, and models rewritten so that all do the same.

``examine`` looks, ``fix`` rewrites; on the command line both are ``gatherscatter doctor``.
"""

from typing import TYPE_CHECKING, Any

from .diagnosis import Diagnosis, NodeReport
from .examination import examine
from .targets import names
from .verdicts import STATUSES, Reason, Verdict

if TYPE_CHECKING:
    from .fixes import Fixed, fix

__all__ = ["STATUSES", "Diagnosis", "Fixed", "NodeReport", "Reason", "Verdict", "examine", "fix", "names"]


def __getattr__(name: str) -> Any:
    if name in ("Fixed", "fix"):  # which need the onnx package; to examine an IR does not
        from . import fixes

        return getattr(fixes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
