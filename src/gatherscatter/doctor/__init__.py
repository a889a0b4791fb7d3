"""Find out what runtimes do with the gather and scatter nodes of a model, and rewrite it so that they agree.

``examine`` reports on a model, and ``fix`` rewrites it. The command ``gatherscatter doctor`` does both.
"""

from typing import TYPE_CHECKING, Any

from gatherscatter.doctor.examine import Diagnosis, NodeReport, examine
from gatherscatter.findings.verdicts import STATUSES, Reason, Verdict, names

if TYPE_CHECKING:
    from gatherscatter.doctor.fixes import Fixed, fix

__all__ = ["STATUSES", "Diagnosis", "Fixed", "NodeReport", "Reason", "Verdict", "examine", "fix", "names"]


def __getattr__(name: str) -> Any:
    if name in ("Fixed", "fix"):  # loaded late: they need the onnx package, and examining an IR does not
        from gatherscatter.doctor import fixes

        return getattr(fixes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
