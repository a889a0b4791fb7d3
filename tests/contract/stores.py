"""The adapters of Dask, Zarr and xarray."""

from __future__ import annotations

import inspect
import tempfile
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gatherscatter import oracle
from tests.contract.adapter import FOUR_BITS, TABLES, Adapter, disguise_array
from tests.contract.calls import Call
from tests.support import judge


class Dask(Adapter):
    name = "Dask"
    library = "dask.array"
    step = 3
    lacks: ClassVar = {
        "out": "lazy results are not written to arrays",
        "num_threads": "the scheduler of Dask runs the tasks",
        "gradients": "Dask has no gradients",
        "gather_tree": "GatherTree is not lazy",
        **dict.fromkeys(("gather_quantized", *TABLES), "quantized tables are not lazy"),
        **dict.fromkeys((f"func={nan}arg{way}" for nan in ("", "nan") for way in ("min", "max")), "not lazy"),
        "object.mode=fill": "the value of an empty element is not known before",
        "object.negative=skip": "the value of an empty element is not known before",
        "<U9.reduction=add": "the width of text is not known before",
        "S9.reduction=add": "the width of text is not known before",
        "prepare": "prepared indices are in memory",
    }

    def give(self, array: np.ndarray) -> Any:
        import dask.array

        return dask.array.from_array(  # type: ignore[no-untyped-call]
            array, chunks=tuple(max(-(-n // 2), 1) for n in array.shape)
        )

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        return disguise_array(kind, array)

    def take(self, result: Any) -> np.ndarray:
        import dask.array

        assert isinstance(result, dask.array.Array)
        made: np.ndarray = result.compute(scheduler="synchronous")  # type: ignore[no-untyped-call]
        assert (made.dtype, made.shape) == (result.dtype, result.shape)
        return made


class Zarr(Adapter):
    name = "Zarr"
    library = "zarr"
    module = "gatherscatter.zarr"
    step = 7
    lacks: ClassVar = {
        **dict.fromkeys(("bfloat16", *oracle.EIGHT_BIT, *FOUR_BITS, "object"), "Zarr has no such type"),
        **dict.fromkeys(("<U9", "S9"), "Zarr has no specification of text of a fixed width"),
        **dict.fromkeys(("gather_reduce", "gather_quantized", "tensor_scatter", "gather_tree", "aggregate"),
                        "not for stored arrays"),
        "prepare": "prepared indices are of arrays in memory",
        "gradients": "Zarr has no gradients",
        "objects as data": "data is a stored array",
    }  # fmt: skip

    def give_stored(self, array: np.ndarray) -> Any:
        import zarr

        chunks = tuple(max(-(-n // 2), 1) for n in array.shape)
        folder = tempfile.mkdtemp(dir=_folder().name)
        config: Any = {"write_empty_chunks": True}  # see test_values.py
        made = zarr.create_array(
            folder, shape=array.shape, dtype=array.dtype, chunks=chunks, overwrite=True, config=config
        )
        made[...] = array
        return made

    def disguise(self, kind: str, array: np.ndarray) -> Any:
        return disguise_array(kind, array)

    def call(self, call: Call, **objects: Any) -> Any:
        inputs = dict(call.inputs) | objects
        array = self.give_stored(inputs.pop("data"))
        made = self.find(call.function)(array, **inputs, **call.options)
        return array[...] if "updates" in inputs else made

    def call_into(self, call: Call, out: np.ndarray | None) -> tuple[Exception | None, np.ndarray]:
        inputs = dict(call.inputs)
        array = self.give_stored(inputs.pop("data"))
        given = {} if "updates" in inputs else {"out": out}
        made = judge.outcome(self.find(call.function), array, **inputs, **call.options, **given)
        return made if isinstance(made, Exception) else None, array[...] if out is None or "updates" in inputs else out

    def parameters(self, function: str) -> set[str]:
        names = super().parameters(function) | {"out"}  # scatters always write to the array
        return {"data" if name == "array" else name for name in names}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


class XArray(Adapter):
    """Dimensions have the names d0, d1, ... The dimensions of indices are i0, i1, ..."""

    name = "xarray"
    library = "xarray"
    module = "gatherscatter.xarray"
    lacks: ClassVar = {
        **dict.fromkeys(("gather_elements", "scatter_elements"), "elements have names: use the other gathers"),
        **dict.fromkeys(("gather_reduce", "gather_quantized", "tensor_scatter", "gather_tree"), "not for DataArrays"),
        "aggregate": "labels are values of coordinates, not numbers of groups",
        "prepare": "prepared indices have no names",
        "gradients": "xarray has no gradients",
        "objects": "DataArrays hold plain arrays",
        **dict.fromkeys(("out", "batch_dims", "num_threads"), "not for DataArrays"),
    }

    def find(self, function: str) -> Any:
        is_known = function in ("gather", "gather_nd", "scatter_update", "scatter_nd")
        return self._move if is_known else None

    def parameters(self, function: str) -> set[str]:
        own = set(inspect.signature(getattr(self._module, function.partition("_")[0])).parameters)
        return {"axis"} - ({"axis"} if function in ("gather_nd", "scatter_nd") else set()) | own

    def describe_fault(self, call: Call, name: str, position: tuple[int, ...], value: Any) -> str:
        axis, op = call.options.get("axis"), "scatter" if "updates" in call.inputs else "gather"
        dim, position = (
            (axis % call.inputs["data"].ndim, position) if axis is not None else (position[-1], position[:-1])
        )
        return f"xarray.{op}: d{dim}[{', '.join(map(str, position))}] = {value} is out of range"

    def take(self, result: Any) -> np.ndarray:
        import xarray

        assert isinstance(result, xarray.DataArray)
        return result.values

    def _move(self, data: np.ndarray, indices: np.ndarray, updates: Any = None, axis: int | None = None,
              **options: Any) -> Any:  # fmt: skip
        import xarray

        dims = [f"d{n}" for n in range(data.ndim)]
        lead = [f"i{n}" for n in range(indices.ndim - (axis is None))]
        columns = [indices] if axis is not None else [indices[..., k] for k in range(indices.shape[-1])]
        first = 0 if axis is None else axis % data.ndim
        named = {dims[first + k]: xarray.DataArray(column, dims=lead) for k, column in enumerate(columns)}
        slots = [*dims[:first], *lead, *dims[first + len(columns) :]]
        array = xarray.DataArray(data, dims=dims)
        if updates is None:
            return self._module.gather(array, named, **options).transpose(*slots)
        return self._module.scatter(array, named, xarray.DataArray(updates, dims=slots), **options)
