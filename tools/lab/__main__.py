"""Ask every runtime about the whole corpus, and write the pages of documentation about the results.

    python3 -m tools.lab             # half an hour on two cores; needs Python, pip and a C++ compiler
    python3 -m tools.lab --resume    # go on with a run that was interrupted

Run it from the root of the repository. It makes its own environments under build/lab, with the newest releases that pip
finds. PIP_CONSTRAINT, pip's own variable, may name a file with other releases. All results are in
build/lab/report.json, which ``gatherscatter conform --from build/lab/report.json --html report.html`` shows. At the end
the command prints what changed since the published results.

`tools.lab.pages` writes the pages alone, from the results that are published.
"""

from __future__ import annotations

import argparse
import shutil

from tools.lab.environments import FOLDER, ROOT, make_environments, run_to_end


def main() -> int:
    """Make the environments, and go on in one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the runtimes and the results that there are, and install this package again",
    )
    if not parser.parse_args().resume:
        shutil.rmtree(FOLDER, ignore_errors=True)
    interpreters = make_environments()
    return run_to_end([str(interpreters["main"]), "-m", "tools.lab.running"], ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
