"""Arrays of other libraries. An adapter for each library runs calls on its arrays, and returns arrays of the library.

Most adapters read arrays without copying them. Dask's runs calls lazily, and that of PyTorch's devices runs them there.

Lists, numbers and other objects that NumPy accepts (buffers, ``__array__``) have no adapter. They can be mixed with the
arrays of all libraries. NumPy's arrays can be mixed with those of Dask. Otherwise, arrays of two libraries can't be
mixed. Objects that are not read as arrays are in `gatherscatter.arrays.kinds`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from gatherscatter.arrays.kinds import check_kind, is_read_by_numpy
from gatherscatter.errors import OpTypeError, name_memory_error, with_call_errors
from gatherscatter.system.lazy_modules import load_place

Arrays = dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Adapter:
    """How the functions treat the arrays of a library.

    Attributes
    ----------
    name : the name of one array in messages
    converter : the function that makes one of an array of another library
    lazy : whether its arrays have no values yet. NumPy's arrays can be in the same call
    functions : the functions that the library runs in its own way: ``function(op, arrays, options)``
    """

    name: ClassVar[str]
    converter: ClassVar[str] = ""
    lazy: ClassVar[bool] = False
    functions: ClassVar[dict[str, Callable[[str, Arrays, dict[str, Any]], Any]]] = {}

    def accepts(self, value: Any) -> bool:
        """Whether an object, whose class or base class is defined in the library, is an array."""
        return True

    def check(self, op: str, name: str, value: Any) -> None:
        """Raise TypeError for an array that no call accepts, not even next to arrays of other libraries."""

    def select(self, arrays: Iterable[Any]) -> Adapter:
        """Return the adapter for all arrays of a call."""
        return self

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        """Return the same memory as a NumPy array."""
        raise NotImplementedError

    def give(self, result: np.ndarray, like: Any) -> Any:
        """Return the same memory as an array of the library, of the same kind as ``like``."""
        return result

    def finish(self, out: Any) -> Any:
        """Return an ``out`` that was written."""
        return out

    def run(self, function: str, op: str, arrays: Arrays, options: dict[str, Any], call: Callable[..., Any]) -> Any:
        """Run a call. ``arrays`` has all its inputs, and ``call(**arrays, **options)`` runs it on NumPy's arrays."""
        if own := self.functions.get(function):
            return own(op, arrays, options)
        return self.run_on_numpy(op, arrays, options, call)

    def run_on_numpy(self, op: str, arrays: Arrays, options: dict[str, Any], call: Callable[..., Any]) -> Any:
        """Run a call on the same memory as NumPy's arrays."""
        names = [name for name, value in arrays.items() if adapter_of(value) not in (None, NUMPY)]
        taken = {id(arrays[name]): self.take(op, name, arrays[name]) for name in names}  # by identity: out may be data
        result = call(**{name: taken.get(id(value), value) for name, value in arrays.items()}, **options)
        if (out := arrays.get("out")) is not None:
            return self.finish(out)
        like = arrays[names[0]]
        if isinstance(result, tuple):
            return tuple(self.give(each, like) for each in result)
        return self.give(result, like) if isinstance(result, np.ndarray) else result


class NumPyAdapter(Adapter):
    """NumPy's arrays, and the subclasses of ndarray."""

    name = "a NumPy array"
    converter = "np.asarray"

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        return value  # type: ignore[no-any-return]


class DLPackAdapter(Adapter):
    """Arrays of other libraries, which have ``__dlpack__``."""

    name = "an array with __dlpack__"

    def check(self, op: str, name: str, value: Any) -> None:
        check_kind(op, name, value)

    def take(self, op: str, name: str, value: Any) -> np.ndarray:
        on_cpu = value.__dlpack_device__()[0] == 1 if hasattr(value, "__dlpack_device__") else True
        if not on_cpu:
            raise OpTypeError(f"{op}: {name} is not in the memory of the CPU; copy it there", op=op, input=name)
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise OpTypeError(f"{op}: {name} can't be taken by DLPack: {error}", op=op, input=name) from None

    def give(self, result: np.ndarray, like: Any) -> Any:
        """Return an array of the input's namespace (array API standard) if it has one; else a NumPy array."""
        if not hasattr(like, "__array_namespace__"):
            return result
        return like.__array_namespace__().from_dlpack(result)


NUMPY, DLPACK = NumPyAdapter(), DLPackAdapter()

ADAPTERS: dict[str, str] = {}
"""The adapters of libraries, as ``module:name``, by the package that defines the arrays. The root package fills it.

``torch device`` has the one for tensors on other devices, which that of PyTorch selects.
"""

_WITHOUT_ADAPTER = (int, float, complex, str, bytes, list, tuple, np.generic, type(None))


def adapter_of(value: Any) -> Adapter | None:
    """Return the adapter of an array, or None for values without one."""
    known = _find_adapter(type(value))  # type: ignore[arg-type]
    if known is not None and known is not DLPACK and not known.accepts(value):
        known = _find_dlpack(type(value))
    return known


def is_lazy(value: Any) -> bool:
    """Whether an object is an array whose values are not known yet."""
    adapter = adapter_of(value)
    return adapter is not None and adapter.lazy


@lru_cache(maxsize=1024)
def _find_adapter(cls: type) -> Adapter | None:
    if issubclass(cls, np.ndarray):
        return NUMPY
    if issubclass(cls, _WITHOUT_ADAPTER):
        return None
    packages = (str(base.__module__).partition(".")[0] for base in cls.__mro__)
    location = next((ADAPTERS[package] for package in packages if package in ADAPTERS), None)
    return _find_dlpack(cls) if location is None else load_place(location)


def _find_dlpack(cls: type) -> Adapter | None:
    return DLPACK if hasattr(cls, "__dlpack__") and not is_read_by_numpy(cls) else None


def find_adapter(op: str, arrays: Arrays) -> Adapter | None:
    """Return the adapter for a call. None: all arrays are NumPy's, or have no adapter.

    Raises
    ------
    TypeError
        Arrays of two libraries are mixed, or no call accepts an array.
    """
    adapters = {name: adapter for name, value in arrays.items() if (adapter := adapter_of(value)) is not None}
    first = next((name for name, adapter in adapters.items() if adapter is not NUMPY), None)
    if first is None:
        return None
    for name, adapter in adapters.items():
        adapter.check(op, name, arrays[name])
    one = adapters[first]
    for name, adapter in adapters.items():
        if adapter is not one and not (adapter is NUMPY and one.lazy):
            converted, to = (first, adapter) if name == "data" else (name, one)
            how = f", for example with {to.converter}({converted})" if to.converter else ""
            text = f"{op}: {first} is {one.name}, but {name} is {adapter.name}; convert one of them{how}"
            raise OpTypeError(text, op=op, input=name)
    return one.select(arrays[name] for name in adapters)


def dispatch(function: str, op: str, arrays: Arrays, options: dict[str, Any], call: Callable[..., Any]) -> Any:
    """Run ``call(**arrays, **options)`` on arrays of any library. ``function`` is its name for the adapters."""
    adapter = find_adapter(op, arrays)
    if adapter is None:
        return call(**arrays, **options)
    return adapter.run(function, op, arrays, options, call)


def array_function(*names: str, op: str = "") -> Callable[[Function], Function]:
    """Decorate a public function: its arguments with these names can be arrays of any library.

    It also raises the errors of the core for wrong arguments. ``op`` is its name in messages about arrays, if it has
    another.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = signature.parameters
        by_position = sum(one.kind is not inspect.Parameter.KEYWORD_ONLY for one in parameters.values())
        first = int("self" in parameters)
        method, named = function.__qualname__, op or function.__name__
        called = method if first else named

        def run(*given: Any, **keywords: Any) -> Any:
            try:
                bound = signature.bind(*given, **keywords)
            except TypeError:
                return function(*given, **keywords)  # raises the error about the arguments
            bound.apply_defaults()
            options = bound.arguments
            arrays = {each: options.pop(each) for each in parameters if each in names}
            return dispatch(method, named, arrays, options, function)

        general = with_call_errors(wraps(function)(run), called)

        @wraps(function)
        def call(*given: Any, **keywords: Any) -> Any:
            if len(given) > by_position:
                return general(*given, **keywords)
            for value in given[first:]:
                if type(value) not in _PLAIN:
                    return general(*given, **keywords)
            for name, value in keywords.items():
                if type(value) not in _PLAIN or name not in parameters:
                    return general(*given, **keywords)
            try:
                return function(*given, **keywords)
            except MemoryError as error:
                name_memory_error(called, error)

        return cast(Function, call)

    return decorate


_PLAIN = frozenset((np.ndarray, list, tuple, int, float, bool, str, type(None)))
