"""Judge cases in a separate process, and collect the faults."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from gatherscatter.system.progress import Bar
from tools.fuzz_models.cases import Case, is_excused, list_cases
from tools.fuzz_models.files import write_files
from tools.fuzz_models.inputs import draw_inputs
from tools.fuzz_models.judging import Verdict, check_tools, judge
from tools.fuzz_models.limits import HANG, limit_addresses
from tools.fuzz_models.models import MODELS
from tools.fuzz_models.watching import Watch

CLI_EVERY = 5  # the command line runs for every fifth case


def work(connection: Connection, log: str) -> None:
    """Judge one case after another. A case that takes too long ends the process, with a traceback in the log."""
    import gatherscatter_models.openvino.ir  # noqa: F401  loaded now, so its cost does not count for a case
    from gatherscatter_models.loading import open_model

    file = Path(log).open("w")  # noqa: SIM115  open until the process ends
    os.dup2(file.fileno(), 2)
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        for make in MODELS.values():
            path = write_files(make(), Path(folder))
            loaded = open_model(path)
            loaded.run(draw_inputs(loaded.inputs, random.Random(0)))
            check_tools(path, watch)
        limit_addresses()
        while True:
            try:
                case, command_line = connection.recv()
            except EOFError:
                return
            path = write_files(case.files()[0], Path(folder))
            faulthandler.dump_traceback_later(HANG, exit=True, file=file)
            verdict = judge(path, random.Random(case.number), watch, command_line)
            faulthandler.cancel_dump_traceback_later()
            connection.send(verdict)


class Judge:
    """A process that judges cases. When it ends, a new one replaces it."""

    def __init__(self) -> None:
        self.log = tempfile.NamedTemporaryFile("r", suffix=".log")  # noqa: SIM115  closed with the judge
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, self.log.name), daemon=True)
        self.process.start()
        other.close()

    def judge(self, case: Case) -> Verdict:
        try:
            self.connection.send((case, case.number % CLI_EVERY == 0))
            if self.connection.poll(6 * HANG):
                return self.connection.recv()
            fault = "hang, for ever"
        except (EOFError, OSError):
            self.process.join(HANG)
            fault = f"crash: {self.process.exitcode}"
        self.stop()
        trace = Path(self.log.name).read_text(errors="replace")[-3000:]
        self.start()
        return Verdict(faults=(f"hang of {HANG} s" if "Timeout" in trace else fault,), trace=trace)

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


class Summary:
    """Counts of the faults so far, with a few examples of each kind."""

    def __init__(self) -> None:
        self.cases = self.results = self.faulty = 0
        self.seconds, self.slowest = 0.0, ""
        self.memory, self.largest = 0, ""
        self.found: dict[str, list[str]] = {}

    def add(self, case: Case, verdict: Verdict) -> None:
        self.cases += 1
        self.results += verdict.ran
        if verdict.seconds > self.seconds:
            self.seconds, self.slowest = verdict.seconds, str(case)
        if verdict.memory > self.memory:
            self.memory, self.largest = verdict.memory, str(case)
        for fault in verdict.faults:
            self.faulty += 1
            frame = [line.strip() for line in verdict.trace.splitlines() if "File " in line][-1:]
            kind = " ".join([re.sub(r"[0-9.]+", "#", fault.partition(":")[0]), *frame])
            self.found.setdefault(kind, []).append(f"{case}: {fault}")

    def __str__(self) -> str:
        peaks = f"most time {self.seconds:.2f} s ({self.slowest}), most memory {self.memory >> 20} MB ({self.largest})"
        lines = [f"{self.cases} files, {self.results} with a result; {peaks}; {len(self.found)} kinds of faults"]
        for kind, examples in sorted(self.found.items(), key=lambda item: -len(item[1])):
            lines.append(f"{len(examples)} times: {kind}")
            lines += [f"    {example[:300]}" for example in examples[:3]]
        return "\n".join(lines)


def fuzz(end: Callable[[int], bool], seed: int, models: Sequence[str]) -> Summary:
    """Judge cases until `end` returns True. Judge each case with faults a second time."""
    summary, judging = Summary(), Judge()
    try:
        with Bar(description="0 files", redraws=False) as bar:
            for case in list_cases(seed, models):
                if end(summary.cases):
                    break
                verdict = judging.judge(case)
                if verdict.faults and not any(fault.startswith(("hang", "crash")) for fault in verdict.faults):
                    verdict = judging.judge(case)
                kept = tuple(fault for fault in verdict.faults if not is_excused(case, fault))
                summary.add(case, verdict._replace(faults=kept))
                if summary.cases % 1000 == 0:
                    bar.update(description=f"{summary.cases:,} files", note=f"now {case}")
    finally:
        judging.stop()
    return summary


def repeat(case: Case, keep: Path | None) -> Summary:
    """Judge one case, and print the damage and the traceback."""
    files, log = case.files()
    print(*log, sep="\n")
    if keep:
        print("written:", write_files(files, keep))
    summary, judging = Summary(), Judge()
    verdict = judging.judge(case)
    judging.stop()
    summary.add(case, verdict)
    print(verdict.trace)
    return summary
