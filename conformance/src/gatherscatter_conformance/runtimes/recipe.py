"""The base class of recipes: libraries that do not implement the specification, but have similar functions."""

from __future__ import annotations

from typing import Any, ClassVar

from gatherscatter.explaining.library_code.call import LibraryCall, NoCodeError
from gatherscatter.specs import REQUIRED, make_operation
from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes.runtime import NotAskedError, Runtime, names_of, row_of


class Recipe(Runtime):
    """A library's function for each operator, between lines that convert arrays."""

    recipe: ClassVar[bool] = True
    types: ClassVar[tuple[str, ...]]  # element types that the library has
    widen: ClassVar[str] = ""  # the line after which indices of an unusual type are int64, if the library needs it

    def source(self, case: Case) -> str:
        """Return the recipe."""
        call = describe_case(case, self.types)
        try:
            body = self.write_body(call)
        except NoCodeError as reason:
            raise NotAskedError(str(reason)) from None
        if self.widen and call.index_type == "uint64":
            raise NotAskedError("there are no indices of uint64")
        widen = [self.widen] if self.widen and call.widens_indices else []
        lines = [*self.convert_inputs(call), *widen, *body, *self.convert_result(call), *_fuse_batch_dims(call)]
        return "".join(f"{line}\n" for line in lines)

    def write_body(self, call: LibraryCall) -> list[str]:
        """Return the lines that compute ``got`` from the library's arrays, or raise `NoCodeError`."""
        raise NotImplementedError

    def convert_inputs(self, call: LibraryCall) -> list[str]:
        """Return the lines that make arrays of the library."""
        return []

    def convert_result(self, call: LibraryCall) -> list[str]:
        """Return the lines that make ``got`` a NumPy array."""
        return []


def describe_case(case: Case, types: tuple[str, ...]) -> LibraryCall:
    """Return the call of a case. Calls that only a table of types and attributes could refuse are not asked."""
    row = row_of(case)
    if row.kernel == "gather_quantized":
        raise NotAskedError("there are no quantized tables of this kind")
    if row.kernel == "gather_tree":
        raise NotAskedError("there is no beam search")
    if case.error == "TypeError" or case.kind == "attribute":
        raise NotAskedError("there is no table of types and attributes that a call could depart from")
    for each, array in zip(row.inputs, case.inputs, strict=False):
        if array is not None and each.kind == "data" and case.type not in types:
            raise NotAskedError(f"there is no {case.type}")
    values = {one.name: one.default for one in row.attributes if one.default is not REQUIRED} | case.attributes
    data = case.inputs[0]
    assert data is not None
    rank, axis = data.ndim, _axis(case, values)
    axis = axis + rank if -rank <= axis < 0 else axis
    if row.kernel == "tensor_scatter" and not 0 < axis < rank:
        raise NotAskedError("a subscript can't be written for an axis that is not there")
    operation = make_operation(row, data, values)._replace(
        accumulate="step",
        axis=axis,
        batch_dims=_batch_dims(case, values.get("batch_dims", 0), axis),
        include_self=row.kernel != "gather_reduce" and values.get("use_init_val", True),
    )
    named = zip(names_of(case), case.inputs, strict=False)
    return LibraryCall(
        operation=operation,
        row=row,
        arrays={name: array for name, array in named if array is not None and name != "axis"},
        fill_mode=values.get("fill_mode", "ZERO"),
        result_name="got",
    )


def _fuse_batch_dims(call: LibraryCall) -> list[str]:
    if not call.is_fused:
        return []
    number = call.batch_dims
    return [f"got = got.reshape(int(np.prod(got.shape[:{number}])), *got.shape[{number}:])"]


def _batch_dims(case: Case, batch_dims: int, axis: int) -> int:
    data, indices = case.inputs[0], case.inputs[1]
    assert data is not None
    rank = 0 if indices is None else indices.ndim
    number = batch_dims + rank if batch_dims < 0 and row_of(case).kernel == "gather" else batch_dims
    if not 0 <= number <= min(data.ndim, rank) or (row_of(case).kernel == "gather" and 0 < number > axis):
        raise NotAskedError("a call can't be written for batch dimensions that are not there")
    return number


def _axis(case: Case, values: dict[str, Any]) -> int:
    if row_of(case).inputs[-1].kind != "axis":
        return int(values.get("axis", 0))
    given = case.inputs[-1]
    if given is None or given.size != 1 or given.ndim > 1:
        raise NotAskedError("an axis is a number, not a tensor")
    return int(given.reshape(-1)[0])
