"""Ask every runtime about the whole corpus, run every reproducer, and publish the results."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conformance.findings import reproducers
from conformance.lab import pages
from conformance.lab.environments import EXTRAS, FOLDER, ROOT, interpreter_of, run_to_end
from conformance.lab.publishing import publish_results
from gatherscatter_conformance.report_files import read_json
from gatherscatter_conformance.runtimes import NAMES

ENDINGS = {0: "departs", 3: "as specified", 4: "not this time"}  # exit codes of reproducers
TIME_LIMIT = 300.0  # seconds of a reproducer


def main() -> None:
    """Do everything except creating the environments."""
    reports = ask_runtimes({name: interpreter_of(name if name in EXTRAS else "main") for name in NAMES})
    publish_results(reports, run_reproducers())
    for path in pages.write_all():
        print(f"written: {path.relative_to(ROOT)}")


def ask_runtimes(interpreters: Mapping[str, Path]) -> list[Path]:
    """Run the corpus on each runtime, and return the reports. Runtimes with a complete report are skipped."""
    reports = []
    for name, interpreter in interpreters.items():
        file = FOLDER / "reports" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        reports.append(file)
        options = ["--runtime", name, "--json", str(file)]
        if file.exists():
            if read_json(file)["complete"]:
                continue
            options = ["--resume", str(file)]
        print(f"\nruntime {name}", flush=True)
        code = run_to_end([str(interpreter), "-m", "gatherscatter", "conform", *options], FOLDER)
        if code:
            sys.exit(f"{name} ended with exit code {code}. To continue, run python3 -m conformance.lab --resume")
    return reports


def run_reproducers() -> dict[str, str]:
    """Run the reproducers of all findings, and return how each ended."""
    file = FOLDER / "reproducers.json"
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:  # for core files
        for id, script in reproducers.scripts().items():
            if id not in found:
                found[id] = _run_reproducer(script, folder)
                print(f"reproducer {id}: {found[id]}", flush=True)
                file.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def _run_reproducer(script: str, folder: str) -> str:
    try:
        code = reproducers.run(script, folder, TIME_LIMIT).returncode
    except subprocess.TimeoutExpired:
        return f"no end within {TIME_LIMIT:g} s"
    return ENDINGS.get(code, f"failed with exit code {code}")


if __name__ == "__main__":
    main()
