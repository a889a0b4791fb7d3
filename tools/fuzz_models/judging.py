"""Load and run one model file, and list the faults."""

from __future__ import annotations

import random
import traceback
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

from tools.fuzz_models.inputs import draw_inputs
from tools.fuzz_models.limits import Meter, check_limits
from tools.fuzz_models.messages import check_error, check_one_line
from tools.fuzz_models.model_tools import TOOLS, plan_session
from tools.fuzz_models.watching import Watch


class Verdict(NamedTuple):
    """The outcome of one case."""

    ran: bool = False  # whether it ended in a result, not in an error
    seconds: float = 0.0
    memory: int = 0
    faults: tuple[str, ...] = ()  # each: a kind of fault, a colon, and details
    trace: str = ""


def is_same(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return repr(a) == repr(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def check_result(loaded: Any, inputs: dict[str, Any], outputs: dict[str, Any]) -> list[str]:
    """List the faults of a result: wrong names, or a different result of a second run."""
    if list(outputs) != list(dict.fromkeys(info.name for info in loaded.outputs)):
        return [f"outputs: {list(outputs)}"]
    first, given = deepcopy(outputs), deepcopy(inputs)
    for value in outputs.values():
        if isinstance(value, np.ndarray) and value.flags.writeable and not value.dtype.hasobject:
            value.fill(0)  # the caller may overwrite a result
    second = loaded.run(given)
    return [f"different result in the second run: {name!r}" for name in first if not is_same(first[name], second[name])]


def judge(path: Path, rng: random.Random, watch: Watch, command_line: bool) -> Verdict:
    """Load and run a model, read it with all tools, and list the faults."""
    from gatherscatter_models.loading import open_model

    faults: list[str] = []
    stage, ran, trace = "load", False, ""
    with Meter() as meter, watch.over(path.parent), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            loaded = open_model(path)
            stage = "run"
            inputs = draw_inputs(loaded.inputs, rng)
            outputs = loaded.run(deepcopy(inputs))  # a result may be an input
            ran = True
        except Exception as error:
            faults += check_error(error, stage)
            trace = traceback.format_exc()
    faults += [f"{found.rstrip()} in {stage}" for found in watch.found]
    faults += [f"warning {one.category.__name__}: {one.message}" for one in warned
               if not issubclass(one.category, DeprecationWarning)]  # fmt: skip
    faults += check_limits(meter, stage)
    if ran and path.suffix == ".onnx":
        faults += check_inference(path, outputs)
    if ran and is_deterministic(path):
        faults += check_result(loaded, inputs, outputs)
    faults += check_tools(path, watch)
    if command_line:
        faults += check_command(path, watch)
    return Verdict(ran, meter.seconds, meter.memory, tuple(faults), trace)


def check_tools(path: Path, watch: Watch) -> list[str]:
    """Check that the tools that read a model end in a result or a ModelError, within the limits."""
    from gatherscatter_models.interface import ModelError

    faults = []
    for name, tool in TOOLS.items():
        if tool is plan_session and path.suffix != ".onnx":
            continue
        with Meter() as meter, watch.over(path.parent), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                tool(path)
            except ModelError as error:
                faults += check_one_line(str(error), f"{name}'s message")
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                faults.append(
                    f"{type(error).__name__} from {name} at {Path(where.filename).name}: {str(error)[:200]!r}"
                )
        faults += [*check_limits(meter, name), *(f"{name} {found}" for found in watch.found)]
    return faults


def check_inference(path: Path, outputs: dict[str, Any]) -> list[str]:
    """List outputs about which `infer_model` is wrong."""
    from gatherscatter_models.onnx.graph import normalise
    from gatherscatter_models.onnx.scopes import infer_model
    from gatherscatter_models.onnx.tensors import ExternalData

    made = onnx.load(path, load_external_data=False)
    normalise(made)
    scope = infer_model(made, ExternalData(path))
    faults = []
    for name, value in outputs.items():
        info = scope.find(name)
        if not isinstance(value, np.ndarray) or value.size == 0:  # a loop without iterations has the declared outputs
            continue
        if info.sizes is not None and (
            len(info.sizes) != value.ndim
            or any(size not in (None, dim) for size, dim in zip(info.sizes, value.shape, strict=True))
        ):
            faults.append(f"inferred shape: {info.shape} of {name!r}, which has {value.shape}")
        if info.values is not None and any(
            said not in (None, found) for said, found in zip(info.values, value.ravel().tolist(), strict=True)
        ):
            faults.append(f"inferred values: {info.values} of {name!r}, which has {value.tolist()}")
    return faults


def is_deterministic(path: Path) -> bool:
    """Return whether the model has no random operators."""
    content = path.read_bytes()
    return not any(word in content for word in (b"Random", b"Dropout", b"Bernoulli", b"Multinomial"))


def check_command(path: Path, watch: Watch) -> list[str]:
    """Check that ``gatherscatter run`` ends in a table or in one line."""
    from tests.support.command_line import call

    with Meter() as meter, watch.over(path.parent), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call("run", path, "--random-inputs")
    faults = check_limits(meter, "command")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        where = traceback.format_exception(result.exception)[-2:]
        return [*faults, f"command raised {type(result.exception).__name__}: {' '.join(where)[:300]}"]
    if result.exit_code not in (0, 2):
        faults.append(f"command: exit code {result.exit_code}")
    if result.exit_code == 2:
        faults += check_one_line(result.stderr.removesuffix("\n"), "command's output")
    return faults + [f"command {found}" for found in watch.found]
