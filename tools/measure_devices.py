"""Test and time scatters and gathers on a device: ``python tools/measure_devices.py cuda``, or ``cpu``.

On CUDA, the tests with the marker `device` run first. The table has milliseconds (the least of several runs) and the
peak memory of each call in MB, with PyTorch's deterministic mode off and on. On the CPU, the kernels for devices are
called directly, and peak memory is not known.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

import gatherscatter as gs
from gatherscatter.operation import Kernel, make_operation
from gatherscatter.torch.device import kernels
from gatherscatter.torch.prepared import prepare

ROOT = Path(__file__).parents[1]
ADD = make_operation("scatter_update", {"reduction": "add"})
REDUCE = make_operation("gather_reduce", {})
Calls = dict[str, Callable[[], Any]]


def additions(zeros: torch.Tensor, rows: torch.Tensor, updates: torch.Tensor) -> Calls:
    wide = rows[:, None].expand_as(updates)
    prepared = prepare(rows, len(zeros), 0)
    return {
        "gatherscatter": lambda: kernels.run(ADD, zeros, rows, updates),
        "gatherscatter, prepared": lambda: prepared.sum(updates),
        "index_add_": lambda: zeros.clone().index_add_(0, rows, updates),
        "scatter_reduce_": lambda: zeros.clone().scatter_reduce_(0, wide, updates, "sum"),
        "index_put_": lambda: zeros.clone().index_put_((rows,), updates, accumulate=True),
    }


def workloads(device: str, small: bool) -> Iterator[tuple[str, Calls]]:
    """Yield each workload: its name, and the calls that compute it."""
    count, size, width = (20_000, 2_000, 16) if small else (1_000_000, 100_000, 64)
    torch.manual_seed(0)
    ranks = (torch.rand(count) * torch.rand(count) ** 3 * size).long()
    destinations = {"a graph": torch.randint(0, size, (count,)), "Zipf": ranks, "one hot": torch.zeros_like(ranks)}
    updates, zeros = torch.randn(count, width, device=device), torch.zeros(size, width, device=device)
    for name, on_cpu in destinations.items():
        yield f"add {count} x {width}, {name}", additions(zeros, on_cpu.to(device), updates)
    rows = destinations["a graph"].to(device)
    wide = rows[:, None].expand_as(updates)
    yield (
        f"max {count} x {width}",
        {
            "gatherscatter": lambda: kernels.run(ADD._replace(reduction="max"), zeros, rows, updates),
            "scatter_reduce_": lambda: zeros.clone().scatter_reduce_(0, wide, updates, "amax"),
        },
    )
    line, single = torch.zeros(size, device=device), updates[:, 0].contiguous()
    yield (
        f"add {count} elements",
        {
            "gatherscatter": lambda: kernels.run(ADD._replace(kernel=Kernel.SCATTER_ELEMENTS), line, rows, single),
            "scatter_reduce_": lambda: line.clone().scatter_reduce_(0, rows, single, "sum"),
            "index_put_": lambda: line.clone().index_put_((rows,), single, accumulate=True),
        },
    )
    table = torch.randn(size, width, device=device)
    yield (
        f"gather {count} x {width}",
        {
            "gatherscatter": lambda: kernels.run(ADD.make_counterpart(), table, rows),
            "index_select": lambda: table.index_select(0, rows),
        },
    )
    bags = rows.reshape(-1, 10)
    yield (
        f"gather_reduce of {len(bags)} bags of 10",
        {
            "gatherscatter": lambda: kernels.gather_reduce(REDUCE, table, bags),
            "embedding_bag": lambda: torch.nn.functional.embedding_bag(bags, table, mode="sum"),
        },
    )


def measure(device: str, call: Callable[[], Any], runs: int) -> str:
    """Return the least time of a call and its peak memory, or the error that it raises."""
    on_cuda = device.startswith("cuda")
    wait = torch.cuda.synchronize if on_cuda else lambda: None
    try:
        call()
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    if on_cuda:
        torch.cuda.reset_peak_memory_stats()
    before, least = torch.cuda.memory_allocated() if on_cuda else 0, float("inf")
    for _ in range(runs):
        wait()
        start = perf_counter()
        call()
        wait()
        least = min(least, perf_counter() - start)
    peak = f", {(torch.cuda.max_memory_allocated() - before) / 1e6:.0f} MB" if on_cuda else ""
    return f"{least * 1e3:.3f} ms{peak}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--small", action="store_true", help="small arrays, to try the command")
    given = parser.parse_args()
    failed = 0
    if given.device.startswith("cuda"):
        tests = [sys.executable, "-m", "pytest", "-q", "tests/torch/test_torch_devices.py", "-m", "device"]
        failed = subprocess.run(tests, cwd=ROOT, check=False).returncode
    name = torch.cuda.get_device_name() if given.device.startswith("cuda") else given.device
    print(f"{name}, torch {torch.__version__}, gatherscatter {gs.__version__}")
    for deterministic in (False, True):
        torch.use_deterministic_algorithms(deterministic)
        print(f"deterministic mode {'on' if deterministic else 'off'}:")
        for title, calls in workloads(given.device, given.small):
            for contender, call in calls.items():
                print(f"  {title}: {contender}: {measure(given.device, call, 3 if given.small else 7)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
