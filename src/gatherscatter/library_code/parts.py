"""Parts of the code that several libraries have in common."""

from __future__ import annotations

from gatherscatter.library_code.call import LibraryCall


def index_lines(call: LibraryCall, library: str) -> list[str]:
    """``at``, the index expression of a scatter in NumPy's way."""
    if call.kernel == "scatter_nd":
        return [f"at = {index_tuple(library, 'indices')}"]
    if call.kernel == "scatter_update":
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
    """The line that makes one dimension of all batch dims, for the op version that does."""
    return [f"output = output.reshape({fused_shape(call)})"] if call.is_fused else []


def wrap_positions(call: LibraryCall, positions: str) -> str:
    """Positions in the cache of TensorScatter, which may be a ring."""
    return f"({positions}) % past_cache.shape[{call.axis}]" if call.rule == "circular" else positions


def clear_missing_starts(call: LibraryCall) -> list[str]:
    """The input of TensorScatter that may be left out."""
    return ["write_indices = None"] if call.indices is None else []


def negative_note(call: LibraryCall, library: str) -> list[str]:
    """A comment where the library takes indices that the op version refuses."""
    if call.rule == "nonnegative":
        return [f"# {library} would take negative indices from the end; {call.op} refuses them"]
    return []


def repeated_note(call: LibraryCall, library: str) -> list[str]:
    """A comment where the result of the library is open."""
    if call.reduction == "none" and call.repeated:
        return [f"# repeated indices: {library} leaves open which update remains, here it is the last one"]
    return []


def identity(call: LibraryCall, infinity: str, limits: str) -> str:
    """What changes nothing when it is combined with an update."""
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
