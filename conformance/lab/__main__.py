"""Ask every runtime about the whole corpus, and write the pages of documentation about the results.

    python3 -m conformance.lab             # half an hour on two cores; needs Python, pip and a C++ compiler
    python3 -m conformance.lab --resume    # continue a run that was interrupted

Run it from the root of the repository. It creates its own environments under build/lab, with the newest releases that
pip finds. To choose other releases, name a file in PIP_CONSTRAINT, a variable of pip. All results are in
build/lab/report.json. To see them, run ``gatherscatter conform --from build/lab/report.json --html report.html``. At
the end, the command prints the changes since the published results.

`conformance.lab.pages` writes only the pages, from the published results.
"""

from __future__ import annotations

import argparse
import shutil

from conformance.lab.environments import FOLDER, ROOT, make_environments, run_to_end


def main() -> int:
    """Create the environments, and run the rest in one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the installed runtimes and the existing results, and reinstall this package",
    )
    if not parser.parse_args().resume:
        shutil.rmtree(FOLDER, ignore_errors=True)
    interpreters = make_environments()
    return run_to_end([str(interpreters["main"]), "-m", "conformance.lab.running"], ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
