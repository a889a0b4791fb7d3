"""The reports to send, as files in ``conformance/findings/reports``. `conformance.lab.pages` writes them.

A finding has a report if we reproduced it and it reads or writes out-of-bounds memory, crashes the process or varies
from run to run. Wrong results that occur in ordinary models also have a report. No finding without a report is more
severe than one with a report. `gatherscatter_models.findings.catalog.EFFECTS` ranks the effects. Within an effect, the
more common findings come first: those of ONNX models and of all types before those of one type or one setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.findings import reproducers
from conformance.lab.reports import (
    Erratum,
    TextCorrection,
    UpstreamReport,
    errata,
    projects,
    reports,
    status_text,
)
from gatherscatter.messages.text import markdown_table
from gatherscatter_models.findings.catalog import CONDITIONS, EFFECTS, Finding

COMMAND = "python -m conformance.lab.pages"
CORRECTED = ("O1", "O22", "O26")  # rulings about sentences that onnx 1.23.2 has corrected
_HOW_TO_RUN = (
    "Save the script as a file and run it. Exit status 0 means that the release departs from the specification. 3 "
    "means that it follows the specification. 4 means that this run showed no departure."
)


def pages(read_script: Callable[[str], str]) -> dict[str, str]:
    """Return the text of each file in ``conformance/findings/reports``, by its name.

    Parameters
    ----------
    read_script : function
        Returns the text of the reproducer of a finding, or of the script of an erratum, by its id.

    Returns
    -------
    dict of str to str
        ``README.md``, and ``<id>.md`` for each report and erratum.

    Raises
    ------
    OSError
        A script is missing (raised by ``read_script``).

    Examples
    --------
    >>> pages(lambda id: "print(1)")["onnxruntime-gather-strings.txt"].splitlines()[0]
    '# Gather of strings copies only the first element of each slice'
    """
    texts = {"README.md": "\n".join(_overview()) + "\n"}
    texts |= {f"{report.id}.txt": _report_page(report, read_script(report.id)) for report in reports()}
    for erratum in errata():
        script = read_script(erratum.id) if erratum.printed else ""
        texts[f"{erratum.id}.txt"] = _erratum_page(erratum, script)
    return texts


def read_script_in(folder: Path, id: str) -> str:
    """Return the text of a script in ``conformance/findings/reports``, or of the reproducer of a finding.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "one.py").write_text("print(1)")
    ...     read_script_in(Path(folder), "one"), read_script_in(Path(folder), "openvino-nan").splitlines()[2]
    ('print(1)', 'import sys')
    """
    script = folder / f"{id}.py"
    return script.read_text(encoding="utf-8") if script.exists() else reproducers.scripts()[id]


def _overview() -> Iterator[str]:
    yield "# Reports to send\n"
    yield (
        "These reports are ready to paste into the form of each project, in Markdown. None of them has been sent.\n"
        f"`{COMMAND}` writes them from `conformance/lab/reports.toml`.\n"
    )
    yield "A *thread* is a public thread by others about the same fault. Read it before you send a report.\n"
    yield "## Findings\n"
    yield (
        "These are the most severe findings of [docs/findings.md](../../../docs/findings.md). Faults that read or\n"
        "write out of bounds or crash the process go to the private channel of a project. NumPy accepts them in\n"
        'public: its security policy says of such faults "while such issues may be bugs, they are not security\n'
        'issues". The folder conformance/findings shows the same faults. Send the private reports before this\n'
        "repository becomes public.\n"
    )
    yield markdown_table(["report", "project", "effect", "channel", "status"], map(_report_row, reports()))
    yield "\n## Errors of specifications\n"
    yield (
        "Tests compare the sentences of ONNX with the installed release. The other sentences are in the commit that a\n"
        "report names. Check that they are unchanged before you send a report.\n"
    )
    yield markdown_table(["report", "project", "rulings", "status"], map(_erratum_row, errata()))
    yield (
        "\nSection 3 of [docs/specification.md](../../../docs/specification.md) also lists points that specifications\n"
        f"leave open. They are not reported here. onnx 1.23.2 has corrected the sentences of {', '.join(CORRECTED)}."
    )


def _report_row(report: UpstreamReport) -> list[str]:
    channel = "private" if report.is_private else "public"
    return [_link(report), report.project.name, report.finding.effect, channel, status_text(report.status)]


def _erratum_row(erratum: Erratum) -> list[str]:
    name = projects()[erratum.project].name
    return [_link(erratum), name, ", ".join(erratum.rulings), status_text(erratum.status)]


def _link(entry: UpstreamReport | Erratum) -> str:
    return f"[{entry.id}]({entry.id}.txt)"


def _report_page(report: UpstreamReport, script: str) -> str:
    finding = report.finding
    script_text, printed = _block("python", script), _block("text", report.printed)
    fields = {
        "problem": "\n\n".join(_problem(report)),
        "effect": f"{_title(EFFECTS[finding.effect])}.",
        "needs": f"Needs: {'; '.join(_needs(finding))}.",
        "script": f"{_HOW_TO_RUN}\n\n{script_text}",
        "printed": printed,
        "reproduction": f"{_HOW_TO_RUN}\n\n{script_text}\n\nIt printed:\n\n{printed}",
        "release": finding.releases,
        "suggestion": report.suggestion,
        "expected": _cite(finding),
    }
    return _page(report, finding.title, fields)


def _problem(report: UpstreamReport) -> Iterator[str]:
    finding = report.finding
    versions = f" (version {', '.join(map(str, finding.versions))})" if finding.versions else ""
    onnx = f". Operators of ONNX models: {', '.join(finding.onnx_ops)}" if finding.onnx_ops else ""
    yield f"{finding.title}."
    yield f"Operators: {', '.join(finding.ops)}{versions}{onnx}. Needs: {'; '.join(_needs(finding))}."
    yield f"The specification says:\n\n{_cite(finding)}"
    yield f"Observed: {finding.observed}"
    if report.related:
        yield f"Related: {', '.join(f'<{address}>' for address in report.related)}"


def _cite(finding: Finding) -> str:
    return f"> {finding.text}\n>\n> {finding.source}"


def _needs(finding: Finding) -> Iterator[str]:
    yield CONDITIONS[finding.condition]
    if finding.reductions != ("*",):
        yield f"reduction {', '.join(finding.reductions)}"
    if finding.types != ("*",):
        yield f"types {', '.join(finding.types)}"
    if finding.except_types:
        yield f"all types except {', '.join(finding.except_types)}"
    if finding.setting:
        yield finding.setting
    if finding.threads > 1:
        yield f"{finding.threads} threads or more, and more than {finding.elements} elements"


def _erratum_page(erratum: Erratum, script: str) -> str:
    fields = {
        "problem": "\n\n".join(_errors(erratum)),
        "suggestion": "Replace each quoted sentence by the proposed one.",
        "reproduction": _show(erratum, script),
        "expected": "The document has the proposed sentences.",
        "release": erratum.seen.rpartition(" ")[2],
        "link": erratum.link,
        "seen": erratum.seen,
    }
    return _page(erratum, erratum.title, fields)


def _errors(erratum: Erratum) -> Iterator[str]:
    yield f"{erratum.title}. Document: {erratum.document}. Seen in: {erratum.seen}."
    for number, correction in enumerate(erratum.corrections, 1):
        yield "\n\n".join(_correction(number, correction))
    if erratum.related:
        yield f"Related: {', '.join(f'<{address}>' for address in erratum.related)}"


def _correction(number: int, correction: TextCorrection) -> Iterator[str]:
    yield f"**{number}.** The document says\n\n{_block('text', correction.sentence)}"
    yield correction.wrong
    yield f"Proposed:\n\n{_block('text', correction.proposed)}"


def _show(erratum: Erratum, script: str) -> str:
    """Return a way to see the fault: a command that prints an ONNX schema, or the script of the erratum."""
    if erratum.schema:
        name, *versions = erratum.schema
        call = f"onnx.defs.get_schema({name!r}, {versions[-1]}, '')"
        return _block("sh", f'python -c "import onnx; print({call})"')
    if not erratum.printed:
        return ""
    return f"{_block('python', script)}\n\nIt printed:\n\n{_block('text', erratum.printed)}"


def _page(entry: UpstreamReport | Erratum, title: str, fields: dict[str, str]) -> str:
    channel = entry.channel
    private = isinstance(entry, UpstreamReport) and entry.is_private
    lines = [
        f"# {title}\n",
        f"- Send to: <{channel.address}>" + (" (**private**: do not open a public issue)" if private else ""),
        *([f"- {channel.policy}"] if channel.policy else []),
        f"- Title: {channel.prefix}{title}",
        f"- Status: {status_text(entry.status)}",
        "\n---",
        channel.form.format(**fields).rstrip(),
    ]
    return "\n".join(lines) + "\n"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def _title(text: str) -> str:
    return text[0].upper() + text[1:]
