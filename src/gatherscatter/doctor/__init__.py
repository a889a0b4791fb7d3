"""What runtimes do with the gather and scatter nodes of a model, and models rewritten so that all do the same.

``examine`` looks, ``fix`` rewrites; on the command line both are ``gatherscatter doctor``.
"""

from typing import TYPE_CHECKING, Any

from gatherscatter.doctor.examine import Diagnosis, NodeReport, examine
from gatherscatter.findings.verdicts import STATUSES, Reason, Verdict, names

if TYPE_CHECKING:
    from gatherscatter.doctor.fixes import Fixed, fix

__all__ = ["STATUSES", "Diagnosis", "Fixed", "NodeReport", "Reason", "Verdict", "examine", "fix", "names"]


def __getattr__(name: str) -> Any:
    if name in ("Fixed", "fix"):  # which need the onnx package; to examine an IR does not
        from gatherscatter.doctor import fixes

        return getattr(fixes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
