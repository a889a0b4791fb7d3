"""Parts of the code that several libraries share."""

from __future__ import annotations

import math
from dataclasses import replace

from gatherscatter.explaining.library_code.call import LibraryCall
from gatherscatter.operation import Kernel


def index_lines(call: LibraryCall, library: str) -> list[str]:
    """``at``, the index expression of a scatter in NumPy's notation."""
    if call.kernel == Kernel.SCATTER_ND:
        return [f"at = {index_tuple(library, 'indices')}"]
    if call.kernel == Kernel.SCATTER_UPDATE:
        return [f"at = ({'slice(None), ' * call.axis}indices{',' * (call.axis == 0)})"]
    return [f"at = list({library}.indices(indices.shape, sparse=True))", f"at[{call.axis}] = indices", "at = tuple(at)"]


def index_tuple(library: str, indices: str) -> str:
    """The columns of index tuples as a tuple of arrays."""
    return f"tuple({library}.moveaxis({indices}, -1, 0))"


def map_batches(library: str, expression: str, batch_dims: int) -> str:
    """An expression of ``data`` and ``indices``, mapped over their batch dims."""
    if batch_dims <= 0:
        return expression
    function = f"lambda data, indices: {expression}"
    for _ in range(batch_dims):
        function = f"{library}.vmap({function})"
    return f"{function}(data, indices)"


def fused_shape(call: LibraryCall) -> str:
    """The shape in which all batch dims are one dimension."""
    size = " * ".join(f"data.shape[{axis}]" for axis in range(call.batch_dims))
    return f"{size}, *output.shape[{call.batch_dims}:]"


def fuse_batch_dims(call: LibraryCall) -> list[str]:
    """The line that merges all batch dims into one, for the op version that does this."""
    return [f"output = output.reshape({fused_shape(call)})"] if call.is_fused else []


def wrap_positions(call: LibraryCall, positions: str) -> str:
    """Lines for positions in the cache of TensorScatter, which may be a ring."""
    return f"({positions}) % past_cache.shape[{call.axis}]" if call.mode == "circular" else positions


def clear_missing_starts(call: LibraryCall) -> list[str]:
    """The line for the optional input of TensorScatter."""
    return ["write_indices = None"] if call.indices is None else []


def negative_note(call: LibraryCall, library: str) -> list[str]:
    """A comment if the library accepts indices that the op version refuses."""
    if call.operation.rule == ("raise", "error") and call.indices is not None:
        return [f"# {library} would take negative indices from the end; {call.op} refuses them"]
    return []


def repeated_note(call: LibraryCall, library: str) -> list[str]:
    """A comment if the library does not define the result."""
    if call.reduction == "none" and call.repeated:
        return [f"# repeated indices: {library} leaves open which update remains, here it is the last one"]
    return []


TAKE, FLATTEN = "{}[{}]", "{}.reshape(-1)"  # a row by its index, and a flat array, in NumPy's notation


def member_rows(call: LibraryCall, take: str = TAKE, flatten: str = FLATTEN) -> list[str]:
    """Lines for ``rows``: the members of all bags in order, each multiplied by its weight."""
    call.require(call.indices is None or not call.missing, "zeros for indices out of range take several steps here")
    lines = weighted_rows(call, take, flatten if call.bag_input is None else "{}")
    if first := int(call.bags.starts[0]):
        last = "offsets[0]" if len(call.bags.starts) > 1 else str(first)
        lines.append(f"rows = rows[{last}:]  # the others are in no bag")
    return lines


def weighted_rows(call: LibraryCall, take: str = TAKE, line: str = "{}") -> list[str]:
    """Lines for ``rows``, each multiplied by its weight. ``line`` is applied to indices and weights first."""
    data = call.name("data")
    lines = [f"rows = {data if call.indices is None else take.format(data, line.format('indices'))}"]
    if call.weights_input:
        lines.append(f"rows = rows * {line.format(call.weights_input)}{new_axes(call)}")
    return lines


def new_axes(call: LibraryCall) -> str:
    """The subscript that adds the dims of a row to an array with one number for each row."""
    return f"[...{', None' * (call.rank - 1)}]" if call.rank > 1 else ""


def bag_count(call: LibraryCall, greatest: str = "segment_ids.max()") -> str:
    """The number of bags."""
    if call.bag_input == "offsets":
        return "len(offsets)"
    if call.bag_input == "indptr":
        return "len(indptr) - 1"
    if call.bag_input is None:
        return "len(indices)" if len(call.members) == 2 else str(math.prod(call.bags_shape))
    if "num_segments" in call.arrays:
        return "int(num_segments[0])" if call.arrays["num_segments"].ndim else "int(num_segments)"
    return f"int({greatest}) + 1" if call.arrays["segment_ids"].size else "0"


def bags_by_repeat(call: LibraryCall, library: str) -> str:
    """``bags``, the number of the bag of each member, for NumPy and JAX."""
    if call.bag_input is None:
        return f"bags = {library}.repeat({library}.arange({bag_count(call)}), indices.shape[-1])"
    signed = ".astype(int)" if call.arrays[call.bag_input].dtype.name not in ("int32", "int64") else ""
    if call.bag_input == "segment_ids":
        return f"bags = segment_ids{signed}"
    if call.bag_input == "indptr":
        return f"bags = {library}.repeat({library}.arange(len(indptr) - 1), {library}.diff(indptr{signed}))"
    lengths = f"{library}.diff(offsets{signed}, append={member_count(call)})"
    return f"bags = {library}.repeat({library}.arange(len(offsets)), {lengths})"


def member_count(call: LibraryCall) -> str:
    """The number of members, for bags by offsets."""
    return f"len({call.name('data') if call.indices is None else 'indices'})"


def bag_default(call: LibraryCall, lowest: str, take: str = TAKE) -> str:
    """The result for a bag without members. ``lowest``: the lowest number of a float type, or of an integer type."""
    if call.default_row is not None:
        return take.format(call.name("data"), "default_index")
    if "default" in call.arrays:
        return "default"
    return lowest if call.fill_mode == "LOWEST" and call.type != "bool" else "0"


def limits(call: LibraryCall, library: str) -> str:
    """The limits of the type of data."""
    kind = "iinfo" if call.type.startswith(("int", "uint")) else "finfo"
    return f"{library}.{kind}({call.name('data')}.dtype)"


def overflow_note(call: LibraryCall, library: str) -> list[str]:
    """A comment if the library has no wider type for the sum of a mean."""
    if call.type == "int64" and call.reduction == "mean":
        return [f"# sums beyond 64 bits overflow in {library}; here they don't"]
    return []


def sum_of(call: LibraryCall) -> LibraryCall:
    """The call for the first step of a mean."""
    return replace(call, operation=call.operation._replace(reduction="add")) if call.reduction == "mean" else call


def restore_bags(call: LibraryCall) -> list[str]:
    """The line that gives the output the leading dims of indices, if there are several."""
    if len(call.bags_shape) < 2:
        return []
    return [f"output = output.reshape({call.bags_shape + call.data.shape[1:]})"]


def identity(call: LibraryCall, infinity: str, limits: str) -> str:
    """The neutral element of the reduction."""
    kind = call.type
    call.require(call.reduction != "sub", "a difference without data has no first number")
    if call.reduction in ("add", "mul"):
        if kind == "string":
            return "''"
        return "1" if call.reduction == "mul" else "0" if kind.startswith(("int", "uint", "bool")) else "-0.0"
    least = call.reduction == "max"
    if kind == "bool":
        return str(not least)
    if kind.startswith(("int", "uint")):
        return f"{limits}.{'min' if least else 'max'}"
    return f"{'-' * least}{infinity}"
