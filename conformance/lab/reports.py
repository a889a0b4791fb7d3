"""Reports for other projects: the table ``reports.toml`` and its types.

For each report, the table adds to the finding where to send it, the suggested fix, and a public thread about the same
fault. Errata, which are errors of specifications, are completely in the table. `conformance.lab.upstream_reports`
writes the texts to send.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatherscatter_models.findings.catalog import Finding, load

NOT_REPORTED = "not reported"

# Faults by which an input reads or writes memory or crashes the process. They go to the private channel of a project.
PRIVATE_EFFECTS = ("out-of-bounds memory", "crash")


@dataclass(frozen=True)
class Channel:
    """The address where a project accepts one kind of report.

    Attributes
    ----------
    address : str
        The page with the form.
    form : str
        The form's headings in Markdown, with the names of fields in braces.
    prefix : str
        The beginning of titles in this project.
    policy : str
        The words of the project about this channel.
    """

    address: str
    form: str
    prefix: str = ""
    policy: str = ""


@dataclass(frozen=True)
class Project:
    """A project that accepts reports. ``runtimes`` are the runtimes of the findings that go to it.

    ``private`` is None if the project has no private channel for such faults. ``documentation`` is None if errors of
    its documents go to the public channel.
    """

    id: str
    name: str
    runtimes: tuple[str, ...]
    public: Channel
    private: Channel | None = None
    documentation: Channel | None = None


@dataclass(frozen=True)
class UpstreamReport:
    """The parts of a report that its finding does not have.

    Attributes
    ----------
    id : str
        The id of the finding.
    suggestion : str
        A fix that the project could make, with the file and line in its source.
    printed : str
        The output of the reproducer when the report was written.
    status : str
        ``"not reported"``, or the address of a public thread about the same fault.
    related : tuple of str
        Addresses of public threads about related faults.
    """

    id: str
    suggestion: str
    printed: str
    status: str = NOT_REPORTED
    related: tuple[str, ...] = ()

    @property
    def finding(self) -> Finding:
        """The finding that is reported."""
        return next(finding for finding in load() if finding.id == self.id)

    @property
    def project(self) -> Project:
        """The project that gets the report."""
        return next(project for project in projects().values() if self.finding.runtime in project.runtimes)

    @property
    def is_private(self) -> bool:
        """Whether the report is for the private channel."""
        return self.finding.effect in PRIVATE_EFFECTS and self.project.private is not None

    @property
    def channel(self) -> Channel:
        """The channel to use."""
        private = self.project.private
        return private if private is not None and self.is_private else self.project.public


@dataclass(frozen=True)
class TextCorrection:
    """A sentence of a specification, the error in it, and the proposed sentence."""

    sentence: str
    wrong: str
    proposed: str


@dataclass(frozen=True)
class Erratum:
    """Errors in one section of a specification.

    Attributes
    ----------
    id, title, document : str
        A stable name, one line, and the section.
    project : str
        A key of `projects`.
    seen : str
        The release or commit that has the sentences.
    corrections : tuple of TextCorrection
        The errors.
    link : str
        The address, or the path in the project's repository.
    rulings : tuple of str
        The rulings of this package on these points (docs/rulings.md).
    schema : tuple
        The name of an ONNX operator, and its versions that have the sentences.
    printed : str
        The output of ``conformance/findings/reports/<id>.py``, if this script exists.
    status, related : str, tuple of str
        As in `UpstreamReport`.
    """

    id: str
    title: str
    document: str
    project: str
    seen: str
    corrections: tuple[TextCorrection, ...]
    link: str = ""
    rulings: tuple[str, ...] = ()
    schema: tuple[Any, ...] = ()
    printed: str = ""
    status: str = NOT_REPORTED
    related: tuple[str, ...] = ()

    @property
    def channel(self) -> Channel:
        """The channel to use."""
        project = projects()[self.project]
        return project.documentation or project.public


@functools.cache
def projects() -> Mapping[str, Project]:
    """Return the projects that accept reports, by id.

    >>> projects()["openvino"].name
    'OpenVINO'
    """
    return {id: _project(id, row) for id, row in _table()["project"].items()}


@functools.cache
def reports() -> tuple[UpstreamReport, ...]:
    """Return the reports of findings: by severity, then the more common ones first.

    >>> reports()[0].finding.effect
    'out-of-bounds memory'
    """
    return tuple(UpstreamReport(**_values(row)) for row in _table()["report"])


@functools.cache
def errata() -> tuple[Erratum, ...]:
    """Return the errors of specifications.

    >>> errata()[0].corrections[0].sentence
    "'mul':  reduction using the addition operation."
    """
    return tuple(_erratum(row) for row in _table()["erratum"])


def status(finding_id: str) -> str:
    """Return in Markdown whether a finding is reported. Links are relative to a folder in docs.

    Parameters
    ----------
    finding_id : str
        The id of a finding.

    Returns
    -------
    str
        ``"not reported"`` or a link to a public thread, and a link to the text to send if there is one.

    Raises
    ------
    KeyError
        There is no such finding.

    Examples
    --------
    >>> status("onnxruntime-gather-strings")
    'not reported, [text](../../conformance/findings/reports/onnxruntime-gather-strings.txt)'
    """
    finding = next((finding for finding in load() if finding.id == finding_id), None)
    if finding is None:
        raise KeyError(f"no finding {finding_id!r}")
    report = next((report for report in reports() if report.id == finding_id), None)
    if report is None:
        return status_text(finding.url or NOT_REPORTED)
    return f"{status_text(report.status)}, [text](../../conformance/findings/reports/{finding_id}.txt)"


def status_text(status: str) -> str:
    """Return a status in Markdown.

    >>> status_text("https://github.com/onnx/onnx/pull/8444")
    '[thread](https://github.com/onnx/onnx/pull/8444)'
    """
    return status if status == NOT_REPORTED else f"[thread]({status})"


def _project(id: str, row: Mapping[str, Any]) -> Project:
    channels = {name: Channel(**value) for name, value in row.items() if isinstance(value, dict)}
    return Project(id, row["name"], tuple(row["runtimes"]), **channels)


def _erratum(row: Mapping[str, Any]) -> Erratum:
    corrections = tuple(TextCorrection(**correction) for correction in row["correction"])
    others = {key: value for key, value in row.items() if key != "correction"}
    return Erratum(corrections=corrections, **_values(others))


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("reports.toml").read_text(encoding="utf-8"))
