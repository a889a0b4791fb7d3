"""The array functions on arguments that are not plain arrays. The core calls `run` with these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatherscatter import _core
from gatherscatter.arrays import convert
from gatherscatter.arrays.adapters import find_adapter
from gatherscatter.functions import gather_quantized, gather_reduce
from gatherscatter.operation import FUNCTIONS, Kernel, make_operation


def run(function: str, arguments: dict[str, Any]) -> Any:
    """Run an array function on arguments of any kind."""
    arrays = {name: arguments.pop(name) for name in _ARRAYS[function] if name in arguments}
    adapter = find_adapter(function, arrays)
    if adapter is not None:  # the core then gets NumPy's arrays
        return adapter.run(function, function, arrays, arguments, getattr(_core, function))
    run_here: Callable[..., Any] = _RUN.get(function, _move)
    return run_here(function, **arrays, **arguments)


def _move(function: str, *, out: Any = None, **arguments: Any) -> Any:
    inputs = {name: arguments[name] for name in ("data", "indices", "updates") if name in arguments}
    return convert.execute(make_operation(function, arguments), **inputs, out=out)


def _reduce(function: str, *, out: Any = None, default: Any = 0, **arguments: Any) -> Any:
    return gather_reduce.run(make_operation(function, arguments), _select_inputs(function, arguments), out, default)


def _dequantize(function: str, *, out: Any = None, **arguments: Any) -> Any:
    return gather_quantized.run(make_operation(function, arguments), _select_inputs(function, arguments), out)


def _select_inputs(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: arguments[name] for name in _INPUTS[function] if name in arguments}


_RUN: dict[str, Callable[..., Any]] = {Kernel.GATHER_REDUCE: _reduce, Kernel.GATHER_QUANTIZED: _dequantize}
_INPUTS: dict[str, tuple[str, ...]] = {function: signature.inputs for function, signature in FUNCTIONS.items()}
_ARRAYS: dict[str, tuple[str, ...]] = {
    function: tuple(each.name for each in signature.parameters if each.type in ("array", "out"))
    for function, signature in FUNCTIONS.items()
}
