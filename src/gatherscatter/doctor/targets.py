"""The runtimes a model may be for, and what is known of an operator in each."""

from __future__ import annotations

from gatherscatter.conformance import findings
from gatherscatter.conformance.findings import Finding
from gatherscatter.versions import OpVersion

DEFAULT = ("onnxruntime", "openvino")


def names() -> tuple[str, ...]:
    """The runtimes that take model files and that something is known of.

    >>> {"onnxruntime", "openvino"} <= set(names())
    True
    """
    known = (each.runtime for each in findings.load() if each.namespace or each.onnx_ops)
    return tuple(dict.fromkeys((*DEFAULT, *known)))


def is_tested(runtime: str) -> bool:
    """Whether what is known is from our own runs, so that silence means that all is well."""
    return all(each.evidence == "run" for each in findings.load() if each.runtime == runtime)


def takes(runtime: str, row: OpVersion) -> bool:
    """Whether a runtime takes models of the format that an op version is of; an IR is for OpenVINO only.

    >>> import gatherscatter as gs
    >>> takes("onnxruntime", gs.op("openvino.Gather-8"))
    False
    """
    return row.domain == "onnx" or runtime == row.domain


def concerning(runtime: str, row: OpVersion) -> list[Finding]:
    """The findings about an op version in a runtime, most severe first, whatever the values."""
    return [finding for finding in findings.load() if finding.runtime == runtime and _concerns(finding, row)]


def _concerns(finding: Finding, row: OpVersion) -> bool:
    if row.domain == "onnx" and row.op_type in finding.onnx_ops:
        return True
    own = finding.namespace == row.domain and row.op_type in finding.ops
    return own and (not finding.versions or row.version in finding.versions)
