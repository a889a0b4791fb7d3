#!/usr/bin/env python3
"""Differential fuzzing: compare millions of random calls of the compiled core with the oracle.

    python tools/fuzz.py --seconds 180               # random cases and changed stored cases, on all processors
    python tools/fuzz.py --guided DIR --seconds 600  # guided by coverage of the core (see .ci/fuzz)
    python tools/fuzz.py --case 'array gather 0a0b0c'

A case is a name of cases.py and the bytes from which it draws its choices. Every byte string is a valid case. The
corpus has one case per line. They come from guided runs, which keep a case if it takes a new path through the core.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance" / "src"))
sys.path.insert(0, str(Path(__file__).parents[1]))

CORPUS = Path(__file__).parent / "corpus" / "calls.txt"
LENGTH = 96  # bytes; a call that needs more gets the simplest choices
KEPT = 40  # stored cases of each kind
CHUNK = 5000  # cases of one task of a process


class Case(NamedTuple):
    """The kind of a call, and the bytes of its choices."""

    name: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.name} {self.data.hex()}".strip()

    @staticmethod
    def parse(line: str) -> Case:
        """Return the case of a line of the corpus."""
        from tests.support.cases import CASES

        name = max((name for name in CASES if line.startswith(name)), key=len)
        return Case(name, bytes.fromhex(line[len(name) :]))

    def run(self) -> None:
        """Make the call and judge it. Raise AssertionError if it is wrong."""
        from gatherscatter_conformance.random_source import ByteChoices
        from tests.support.cases import CASES

        CASES[self.name](ByteChoices(self.data))

    def fails(self) -> bool:
        """Return whether the case fails with any error."""
        try:
            self.run()
        except Exception:
            return True
        return False


def corpus() -> list[Case]:
    """Return the stored cases."""
    return [Case.parse(line) for line in CORPUS.read_text().splitlines()] if CORPUS.exists() else []


# ---------------------------------------------------------------------------------------------------------- at random


def random_case(rng: random.Random, names: list[str], known: list[Case]) -> Case:
    """Return a new case, or in half of the calls a stored case with a few changed bytes."""
    if known and rng.random() < 0.5:
        name, data = rng.choice(known)
        changed = bytearray(data or b"\0")
        for _ in range(rng.choice((1, 1, 2, 4))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return Case(name, bytes(changed))
    return Case(rng.choice(names), rng.randbytes(rng.randrange(LENGTH)))


def shrunk(case: Case) -> Case:
    """Return a case with fewer and smaller bytes that also fails."""

    def simpler(data: bytes) -> Iterator[bytes]:
        for n in range(0, len(data), 4):
            yield data[:n]
        for n in range(len(data)):
            yield data[:n] + data[n + 1 :]
            if data[n]:
                yield data[:n] + b"\0" + data[n + 1 :]

    for data in simpler(case.data):
        if data != case.data and (smaller := Case(case.name, data)).fails():
            return shrunk(smaller)
    return case


def run_chunk(seed: int, folder: str) -> list[str]:
    """Run CHUNK cases and return the failures. A file names the running case, in case it crashes the process."""
    from tests.support.cases import CASES

    rng, names, known = random.Random(seed), list(CASES), corpus()
    failures = []
    with Path(folder, str(os.getpid())).open("wb+") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096) as current:
            for _ in range(CHUNK):
                case = random_case(rng, names, known)
                text = str(case).encode()
                current[: len(text) + 1] = text + b"\n"
                try:
                    case.run()
                except Exception:
                    failures.append(f"{shrunk(case)}\n{traceback.format_exc(limit=-3)}")
                    if len(failures) == 5:
                        break
    return failures


def at_random(seconds: float, most: float, jobs: int, seed: int) -> tuple[int, list[str]]:
    """Return the number of cases that were run, and the failures."""
    from gatherscatter.system.progress import Bar

    end, done, failures = time.monotonic() + seconds, 0, []
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(jobs) as pool,
        Bar(description="0 cases", redraws=False) as bar,  # without a thread, because processes are forked
    ):
        seeds = iter(range(seed, sys.maxsize))
        running = {pool.submit(run_chunk, next(seeds), folder) for _ in range(jobs)}
        try:
            while running and not failures:
                future = next(as_completed(running))
                running.remove(future)
                done += CHUNK
                failures += future.result()
                bar.update(description=f"{done:,} cases")
                if time.monotonic() < end and done + CHUNK * len(running) < most:
                    running.add(pool.submit(run_chunk, next(seeds), folder))
        except BrokenProcessPool:
            last = [file.read_bytes().partition(b"\n")[0].decode() for file in Path(folder).iterdir()]
            failures.append("one of these cases ended a process\n" + "\n".join(last))
    return done, failures


# ---------------------------------------------------------------------------------------------------------- by coverage


def by_coverage(folder: Path, options: list[str]) -> None:
    """Run libFuzzer, which changes the bytes guided by the coverage of the core. It never returns."""
    import atheris

    from tests.support.cases import CASES

    names = list(CASES)
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(corpus()):
        (folder / f"stored-{number}").write_bytes(bytes([names.index(case.name)]) + case.data)

    def one(data: bytes) -> None:
        if data:
            Case(names[data[0] % len(names)], data[1:]).run()

    atheris.Setup([sys.argv[0], str(folder), "-max_len=128", *options], one, enable_python_coverage=False)
    atheris.Fuzz()


def store(folder: Path) -> None:
    """Write some cases of each kind that a guided run has found into the corpus, short and long ones."""
    from tests.support.cases import CASES

    names = list(CASES)
    found = {name: {b""} for name in names}
    for file in folder.iterdir():
        kind, *data = file.read_bytes() or b"\0"
        found[names[kind % len(names)]].add(bytes(data).rstrip(b"\0"))
    kept = []
    for name in names:
        by_length = sorted(found[name], key=lambda data: (len(data), data))
        kept += [Case(name, data) for data in by_length[:: -(-len(by_length) // KEPT)]]
    CORPUS.write_text("".join(f"{case}\n" for case in kept))
    print(f"{len(kept)} cases stored")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--cases", type=float, default=float("inf"), help="stop after about this number of cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**40)
    parser.add_argument("--guided", metavar="DIR", type=Path)
    parser.add_argument("--options", default="", help="more options of libFuzzer")
    parser.add_argument("--store", metavar="DIR", type=Path)
    parser.add_argument("--case", type=Case.parse)
    given = parser.parse_args()
    actions: dict[str, Callable] = {
        "case": lambda: given.case.run(),
        "store": lambda: store(given.store),
        "guided": lambda: by_coverage(given.guided, [f"-max_total_time={given.seconds}", *given.options.split()]),
    }
    for name, action in actions.items():
        if getattr(given, name) is not None:
            action()
            return 0
    start = time.monotonic()
    done, failures = at_random(given.seconds, given.cases, given.jobs, given.seed)
    print(f"{done:,} cases in {time.monotonic() - start:.0f} s from seed {given.seed}: {len(failures)} failed")
    print("\n\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
