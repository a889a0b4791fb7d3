"""Find out what runtimes do with the gather and scatter nodes of a model, and rewrite it so that they agree.

``examine`` reports on a model, and ``fix`` rewrites it. The command ``gatherscatter doctor`` does both.
"""

from gatherscatter_models.doctor.examine import Diagnosis, examine
from gatherscatter_models.doctor.fixes import Fixed, fix
from gatherscatter_models.doctor.report import NodeReport
from gatherscatter_models.findings.verdicts import STATUSES, Reason, Verdict, names

__all__ = ["STATUSES", "Diagnosis", "Fixed", "NodeReport", "Reason", "Verdict", "examine", "fix", "names"]
