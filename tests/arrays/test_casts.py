"""Values that change their type: each keeps its value, or the call is an error.

The judge represents values as Python objects: whole numbers, fractions, bytes, text, and dates as attoseconds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter.errors import OpTypeError, OpValueError
from tests.support.judge import outcome

Text = np.dtypes.StringDType

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int2", "int4", "uint2", "uint4"]
# The number of significand bits, and the least and the greatest exponent.
FLOATS = {
    "float16": (11, -14, 15),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
    "bfloat16": (8, -126, 127),
    "float8_e3m4": (5, -2, 3),
    "float8_e4m3": (4, -6, 7),
    "float8_e4m3b11fnuz": (4, -10, 4),
    "float8_e4m3fn": (4, -6, 8),
    "float8_e4m3fnuz": (4, -7, 7),
    "float8_e5m2": (3, -14, 15),
    "float8_e5m2fnuz": (3, -15, 15),
    "float8_e8m0fnu": (1, -127, 127),
    "float6_e2m3fn": (4, 0, 2),
    "float6_e3m2fn": (3, -2, 4),
    "float4_e2m1fn": (2, 0, 2),
}
WIDE = np.dtype(np.longdouble)
FLOATS[WIDE.name] = (
    np.finfo(WIDE).nmant + 1 + (WIDE.itemsize > 8),
    *((-16382, 16383) if WIDE.itemsize > 8 else (-1022, 1023)),
)
GREATEST = {"float8_e4m3fn": 448, "float8_e8m0fnu": 2.0**127}  # the codes above have other meanings
COMPLEX = {"complex64": "float32", "complex128": "float64", np.dtype(np.clongdouble).name: WIDE.name}
WITHOUT_NAN = ("float6", "float4")
WITHOUT_INFINITY = ("float6", "float4", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu")
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
SECOND = 10**18
LENGTHS = dict(
    zip(UNITS[2:], [604800 * SECOND, 86400 * SECOND, 3600 * SECOND, 60 * SECOND, *(10**k for k in range(18, -1, -3))],
        strict=True)
)  # fmt: skip


def number(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


# ------------------------------------------------------------------------------------------------- types and values


@st.composite
def dtypes(draw: Any, depth: int = 2) -> np.dtype[Any]:
    kind = draw(st.sampled_from(["number", "number", "time", "void", "text", "object", *["fields"] * (depth > 0)]))
    if kind == "number":
        dtype = number(draw(st.sampled_from(["bool", *INTEGERS, *FLOATS, *COMPLEX])))
        return dtype.newbyteorder(draw(st.sampled_from("=>"))) if dtype.isbuiltin == 1 else dtype
    if kind == "time":
        units = [f"[{n}{unit}]" for unit in UNITS for n in ("", "7")]
        return np.dtype(draw(st.sampled_from([*(f"{letter}8{unit}" for letter in "Mm" for unit in units), "m8"])))
    if kind == "void":
        return np.dtype((np.void, draw(st.sampled_from([1, 4, 8]))))
    if kind == "text":
        fixed = [f"{letter}{width}" for letter in "US" for width in (1, 2, 3, 5)]
        return np.dtype(draw(st.sampled_from([*fixed, Text(), Text(na_object=None), Text(na_object=np.nan)])))
    if kind == "object":
        return np.dtype(object)
    return draw(structured(depth))


@st.composite
def structured(draw: Any, depth: int) -> np.dtype[Any]:
    parts = dtypes(depth - 1).filter(lambda dtype: dtype.kind != "T")
    names = draw(st.sampled_from([["a"], ["a", "b"], ["b", "a"], ["a", "c"]]))
    fields = [(name, draw(parts), draw(st.sampled_from([(), (), (2,)]))) for name in names]
    return np.dtype(fields, align=draw(st.booleans()) and not np.dtype(fields).hasobject)


@st.composite
def similar(draw: Any, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Draw a type that the other type can often be cast to."""
    if dtype.names is None:
        same = dtypes(0).filter(lambda other: family(other) == family(dtype))
        return draw(st.one_of(same, same, dtypes(0)))
    other = [(name, draw(similar(dtype[name].base)), dtype[name].shape) for name in dtype.names]
    assume(all(each[1].kind != "T" for each in other))
    return np.dtype(other, align=draw(st.booleans()) and not np.dtype(other).hasobject)


def family(dtype: np.dtype[Any]) -> str:
    kind = rank(dtype)
    return "number" if kind is not None else "text" if dtype.kind in "UST" else dtype.kind


@st.composite
def arrays(draw: Any, dtype: np.dtype[Any], count: int) -> np.ndarray:
    if dtype.names is not None:
        made = np.zeros(count, dtype)
        for name in dtype.names:
            part = dtype[name]
            flat = draw(arrays(part.base, count * math.prod(part.shape)))
            made[name] = flat.reshape(count, *part.shape)
        return made
    if dtype.kind in "Mm":
        counts = st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**6), 10**6) | st.just(-(2**63))
        return np.array(draw(st.lists(counts, min_size=count, max_size=count)), np.int64).view(dtype)
    if dtype.type is np.void:
        return np.frombuffer(draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize)), dtype)
    letters = st.text(st.sampled_from("ab\0é\ud800"), max_size=4)
    items: Any = {
        "U": letters,
        "S": st.binary(max_size=4),
        "T": st.text(st.sampled_from("ab\0é"), max_size=4) | st.just(getattr(dtype, "na_object", "")),
        "O": draw(st.sampled_from([letters, st.binary(max_size=4), st.none() | letters, st.integers()])),
    }.get(dtype.kind)
    if items is None:
        return draw(numbers(dtype, count))
    made = np.empty(count, dtype)
    for n, item in enumerate(draw(st.lists(items, min_size=count, max_size=count))):
        made[n] = item
    return made


@st.composite
def numbers(draw: Any, dtype: np.dtype[Any], count: int) -> np.ndarray:
    if dtype.kind == "b":
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    if rank(dtype) == 1:
        low, high = bounds(dtype)
        edges = [x for k in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63) for e in (2**k, -(2**k)) for x in (e - 1, e, e + 1)]
        whole = st.integers(low, high) | st.sampled_from([x for x in edges if low <= x <= high])
        wide = np.array(draw(st.lists(whole, min_size=count, max_size=count)), np.uint64 if low == 0 else np.int64)
        return wide.astype(dtype)
    edge = st.sampled_from([0.0, -0.0, 6.9, 7.1, 28.0, 448.0, 465.0, 65519.0, 65520.0, 1e39, -1.0, 1e-50])
    real = (st.floats() | edge | st.floats(-100, 100)).map(float)
    parts = np.array(draw(st.lists(real, min_size=2 * count, max_size=2 * count)))
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            return (parts[:count] + 1j * parts[count:]).astype(dtype)
        return (parts[:count].astype(WIDE) * (1 + draw(st.sampled_from([0, 2.0**-30, WIDE.type(2) ** -60])))).astype(
            dtype
        )


# ---------------------------------------------------------------------------------------------------------- the judge


def rank(dtype: np.dtype[Any]) -> int | None:
    names = (["bool"], INTEGERS, list(FLOATS), list(COMPLEX))
    return next((n for n, kinds in enumerate(names) if dtype.name in kinds), None)


def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    bits = int("".join(letter for letter in dtype.name if letter.isdigit()))
    return (0, 2**bits - 1) if dtype.name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def go_together(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Apply the documented rule for types."""
    if source == target or (target.kind == "O" and source.names is None):
        return True
    if target.kind == "O":
        return not holds_times(source)
    if source.names or target.names:
        return source.names == target.names and all(
            source[name].shape == target[name].shape and go_together(source[name].base, target[name].base)
            for name in source.names or ()
        )
    one, other = rank(source), rank(target)
    if one is not None and other is not None:
        return one <= other
    texts = "UTO", "SO"
    if target.kind in "UST":
        return source.kind in texts[target.kind == "S"]
    if source.kind == target.kind and source.kind in "Mm":
        units = [np.datetime_data(each)[0] for each in (source, target)]
        calendar = [unit in ("Y", "M") for unit in units]
        return units[0] == "generic" or (units[1] != "generic" and (source.kind == "M" or calendar[0] == calendar[1]))
    return False


def holds_times(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "Mm" or any(holds_times(dtype[name].base) for name in dtype.names or ())


def moment(count: int, dtype: np.dtype[Any]) -> Any:
    """Convert a date or duration to attoseconds. Durations of months stay in months."""
    unit, each = np.datetime_data(dtype)
    count *= each
    if count == 0:
        return 0
    if unit in LENGTHS:
        return count * LENGTHS[unit]
    months = count * 12 if unit == "Y" else count
    return months if dtype.kind == "m" else days_before(months) * LENGTHS["D"]


def days_before(months: int) -> int:
    """Return the days from 1970 to the first of a month of the Gregorian calendar, which repeats every 400 years."""
    cycles, month = divmod(months, 4800)
    year, month = 1970 + month // 12, month % 12
    days = sum(366 if is_leap(y) else 365 for y in range(1970, year)) + cycles * 146097
    return days + sum((31, 29 if is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[:month])


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def real(value: Any) -> Any:
    """Convert a value to a fraction, or to a float if it is not finite."""
    if not isinstance(value, np.longdouble):
        value = float(value) if not isinstance(value, int | np.integer) else int(value)
    return Fraction(*value.as_integer_ratio()) if isinstance(value, int) or np.isfinite(value) else float(value)


def is_rounded(given: Any, found: Any, name: str) -> bool:
    """Check that a float is one of the two neighbours of a number, or infinite if the number is too large."""
    if not isinstance(given, Fraction):
        return (math.isnan(given) and not isinstance(found, Fraction) and math.isnan(found)) or given == found
    if not isinstance(found, Fraction):
        return math.isinf(found) and abs(given) > greatest(name) and (given > 0) == (found > 0)
    return abs(found - given) < spacing(given, name) and (given != 0 or found == 0)


def spacing(value: Fraction, name: str) -> Fraction:
    """Return the distance between neighbouring floats around a number."""
    digits, least, _ = FLOATS[name]
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length() if value else least
    exponent -= value < Fraction(2) ** exponent  # the difference of lengths is exact or one too large
    return Fraction(2) ** (max(exponent, least) - digits + 1)


def greatest(name: str) -> Fraction:
    digits, _, exponent = FLOATS[name]
    return Fraction(GREATEST.get(name, (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** exponent))


def is_same(given: Any, source: np.dtype[Any], found: Any, target: np.dtype[Any]) -> bool:
    """Check that two elements of different types have the same value."""
    if source.names is not None and target.names is not None:
        pairs = ((source[n], given[n], target[n], found[n]) for n in source.names)
        return all(
            is_same(x, one.base, y, other.base)
            for one, a, other, b in pairs
            for x, y in zip(elements(a, one), elements(b, other), strict=True)
        )
    if source.kind in "Mm":
        if target.kind == "O":
            return not isinstance(found, int) and (found is None if np.isnat(given) else found == given)
        if np.isnat(given) or np.isnat(found):
            return bool(np.isnat(given) and np.isnat(found))
        counts = given.view("i8").item(), found.view("i8").item()
        if np.datetime_data(source)[0] == "generic":
            return counts[0] == counts[1]
        return moment(counts[0], source.newbyteorder("=")) == moment(counts[1], target.newbyteorder("="))
    if target.kind in "UST" or (source.kind in "USTO" and target.kind == "O"):
        if not isinstance(given, str | bytes) and target.kind == "T":
            return not isinstance(found, str)  # missing
        return found is given or found == given
    if target.kind == "O":
        return repr(found) == repr(given.item()) or found == given.item()
    if source.type is np.void:
        return bytes(given) == bytes(found)
    if rank(target) in (0, 1):
        return int(given) == int(found)
    if rank(source) == 1:
        return Fraction(int(given)) == real(found.real) and found.imag == 0
    if rank(target) == 2:
        return is_rounded(real(given), real(found), target.name)
    part = COMPLEX[target.name]
    pairs = (
        ((given.real, found.real), (given.imag, found.imag))
        if rank(source) == 3
        else ((given, found.real), (0, found.imag))
    )
    return all(is_rounded(real(x), real(y), part) for x, y in pairs)


def elements(value: Any, dtype: np.dtype[Any]) -> list[Any]:
    return list(value.reshape(-1)) if dtype.shape else [value]


def is_float(number: int, name: str) -> bool:
    """Check that an integer is exactly representable as a float of a type."""
    if number == 0:
        return name != "float8_e8m0fnu"
    if name == "float8_e8m0fnu" and number < 0:
        return False
    magnitude = abs(number)
    digits = (magnitude // (magnitude & -magnitude)).bit_length()
    return digits <= FLOATS[name][0] and magnitude <= greatest(name)


def is_valid(given: Any, source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Check that a type can represent an element exactly or rounded."""
    if source == target:
        return True
    if source.names is not None and target.names is not None:
        return all(
            is_valid(x, source[n].base, target[n].base) for n in source.names for x in elements(given[n], source[n])
        )
    if source.kind in "Mm":
        return is_valid_time(given, source, target)
    if target.kind in "UST":
        if not isinstance(given, bytes if target.kind == "S" else str):
            return hasattr(target, "na_object") and (source.kind == "T" or given is target.na_object)
        if target.kind == "T":
            return "\ud800" not in given
        width = target.itemsize // (4 if target.kind == "U" else 1)
        return len(given) <= width and given[-1:] not in ("\0", b"\0")
    if rank(target) == 1:
        low, high = bounds(target)
        return low <= int(given) <= high
    if rank(source) == 1 and rank(target) in (2, 3):
        return is_float(int(given), COMPLEX.get(target.name, target.name))
    if rank(target) == 2:
        number = real(given)
        if target.name == "float8_e8m0fnu" and not number > 0:
            return not isinstance(number, Fraction) and math.isnan(number)
        if not isinstance(number, Fraction):
            return not target.name.startswith(WITHOUT_NAN if math.isnan(number) else WITHOUT_INFINITY)
        if target.name == "float8_e8m0fnu" and number < Fraction(2) ** -127:
            return False
        return abs(number) <= greatest(target.name) or not target.name.startswith(WITHOUT_INFINITY)
    return True


def is_valid_time(given: Any, source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    if np.isnat(given):
        return True
    if target.kind == "O":
        return not isinstance(given.item(), int)
    if np.datetime_data(source)[0] == "generic":
        return True
    exact = moment(given.view("i8").item(), source.newbyteorder("="))
    low, high = -(2**63) + 1, 2**63 - 1  # -2**63 is NaT
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if moment(middle, target.newbyteorder("=")) < exact else (low, middle)
    return bool(moment(low, target.newbyteorder("=")) == exact)


# ---------------------------------------------------------------------------------------------------- ways of calling


def by_scatter(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return gs.scatter_update(data, np.arange(len(data)), updates)


def by_out(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return gs.scatter_update(data, np.arange(len(data)), updates, out=data)


def by_key(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return np.asarray(gs.at(data)[:].set(updates))


def by_prepared(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return gs.prepare(np.arange(len(data)), len(data)).scatter(data, updates)


def by_window(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return gs.tensor_scatter(data[np.newaxis], updates[np.newaxis], axis=-1)[0]


def by_dask(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return lazily(data, updates)


def by_lazy_updates(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    import dask.array as da

    return lazily(data, da.from_array(updates, chunks=2))


def lazily(data: np.ndarray, updates: Any) -> np.ndarray:
    import dask.array as da

    lazy = da.from_array(data, chunks=2)
    return gs.scatter_update(lazy, np.arange(len(data)), updates).compute(scheduler="synchronous")


def by_zarr(data: np.ndarray, updates: np.ndarray) -> np.ndarray:
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array = zarr.create_array({}, shape=data.shape, dtype=data.dtype, chunks=(2,))
        except (TypeError, ValueError):  # some types cannot be stored
            assume(False)
        gs.zarr.scatter_update(array, np.arange(len(data)), updates)
        return np.asarray(array[...])


WAYS = (by_scatter, by_out, by_key, by_prepared, by_window, by_dask, by_lazy_updates, by_zarr)


def blank(target: np.dtype[Any], count: int) -> np.ndarray:
    """Return data without text, for types that can hold any object."""
    return np.full(count, None, object) if target.kind == "O" else np.zeros(count, target)


def needing(way: Callable[..., np.ndarray]) -> Any:
    """Skip a way of calling if its library is not installed."""
    library = {by_dask: "dask", by_lazy_updates: "dask", by_zarr: "zarr"}.get(way, "numpy")
    missing = pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")
    return pytest.param(way, marks=missing, id=way.__name__)


@pytest.mark.parametrize("way", [needing(way) for way in WAYS])
@given(drawn=st.data())
def test_a_value_stays_what_it_is_or_the_call_is_an_error(way: Callable[..., np.ndarray], drawn: Any) -> None:
    source = drawn.draw(dtypes())
    target = drawn.draw(st.one_of(similar(source), similar(source), dtypes()))
    updates = drawn.draw(arrays(source, 3))
    if way in WAYS[-3:]:
        assume(not target.hasobject and not source.hasobject)
        assume(way is not by_lazy_updates or target.kind not in "US")
    given, before = updates.copy(), blank(target, len(updates))
    texts = target.kind in "US" and way is not by_zarr and way is not by_out  # the result is then widened
    data = before.copy()
    found = outcome(way, data, updates)
    if isinstance(found, Exception):
        assert isinstance(found, OpTypeError | OpValueError), found
        assert repr(data.tolist()) == repr(before.tolist())
        if go_together(source, target) and not (source.kind == "O" and isinstance(found, OpTypeError)):
            assert isinstance(found, OpValueError) or holds_times(source), found
            wide = np.dtype((target.type, 9)) if texts else target
            assert not all(is_valid(x, source, wide) for x in given) or isinstance(found, OpTypeError), found
        return
    assert go_together(source, target)
    for one, other in zip(given, found, strict=True):
        assert is_same(one, source, other, found.dtype), (one, other)


# ------------------------------------------------------------------------------------------------------- single cases


def first(data: np.ndarray, updates: Any) -> Any:
    return gs.scatter_update(data, [0], updates)[0]


@pytest.mark.parametrize(
    ("data", "updates", "text"),
    [
        (np.zeros(1, [("a", "i1")]), np.array([(300,)], [("a", "i8")]), r"updates\[0\] = \(300,\) does not fit"),
        (np.zeros(1, "M8[ns]"), np.array(["3000-01-01"], "M8[D]"), r"updates\[0\] = 3000-01-01 does not fit"),
        (np.zeros(1, "M8[s]"), np.array(["2000-01-01T00:00:00.5"], "M8[ms]"), r"updates\[0\] = .*\.500 does not fit"),
        (np.array(["a"], Text()), np.array([None], Text(na_object=None)), r"updates\[0\] = None does not fit"),
        (np.zeros(1, "U3"), np.array(["a\0"], object), r"updates\[0\] = 'a\\x00' does not fit"),
        (
            np.zeros(1, [("a", "U1")]),
            np.array([("bc",)], [("a", "U2")]),
            r"does not fit in data of type \[\('a',",
        ),
        (np.array([None], object), np.array(["2000"], "M8[ns]"), r"updates\[0\] = 2000-.* does not fit"),
        (np.zeros(1, number("float4_e2m1fn")), np.array([100.0]), r"updates\[0\] = 100.0 does not fit"),
        (np.zeros(1, "i8"), [2**63], r"updates\[0\] = 9223372036854775808 does not fit in data of type int64"),
        (np.zeros(1, "u8"), [2**70], r"updates\[0\] = 1180591620717411303424 does not fit in data of type uint64"),
        (np.zeros(1, "u8"), [-1], r"updates\[0\] = -1 does not fit in data of type uint64"),
    ],
)
def test_values_that_do_not_fit_are_named(data: np.ndarray, updates: Any, text: str) -> None:
    with pytest.raises(OpValueError, match=text):
        first(data, updates)


@pytest.mark.parametrize(
    ("data", "updates"),
    [
        (np.zeros(1, "V4"), np.array([b"12345678"], "V8")),
        (np.zeros(1, "V8"), np.array([b"1234"], "V4")),
        (np.zeros(1, [("p", [("x", "i4"), ("y", "i4")])]), np.zeros(1, [("p", [("y", "i4"), ("x", "i4")])])),
        (np.zeros(1, [("a", "i4", (2,))]), np.zeros(1, [("a", "i8")])),
        (np.zeros(1, "m8[s]"), np.zeros(1, "m8[Y]")),
        (np.zeros(1, "i8"), np.array([1], object)),
    ],
)
def test_types_that_do_not_go_together(data: np.ndarray, updates: Any) -> None:
    with pytest.raises(OpTypeError, match=r"updates of type .* can't be stored in data of type"):
        first(data, updates)


def test_elements_of_lists_stay_what_they_are() -> None:
    large = gs.scatter_update(np.zeros(2, "u8"), [0, 1], [2**64 - 1, 1])  # floats, by NumPy's rule for lists
    assert large.tolist() == [2**64 - 1, 1]
    anything = np.array([None, None], object)
    assert gs.scatter_update(anything, [0, 1], [1, "a"]).tolist() == [1, "a"]
    assert gs.scatter_update(anything, [0, 1], [2**63 + 1, -1]).tolist() == [2**63 + 1, -1]
    missing = np.array(["a", "b"], Text(na_object=None))
    assert gs.scatter_update(missing, [0, 1], [None, "c"]).tolist() == [None, "c"]
    unhashable = np.array(["a", "b"], Text(na_object=[]))
    assert gs.scatter_update(unhashable, [1], ["c"]).tolist() == ["a", "c"]
    for mixed in ([1, "a"], ["a", b"b"], [np.datetime64("3000-01-01"), np.datetime64("2000-01-01", "ns")]):
        with pytest.raises(OpTypeError, match="the common type of the list"):
            gs.gather(mixed, [0])
        with pytest.raises(OpTypeError, match="the common type of the list"):
            gs.scatter_update(np.array(["a", "b"]), [0, 1], mixed)
        assert gs.scatter_update(anything, [0, 1], mixed).tolist() == mixed


def test_what_is_kept_or_rounded() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'generic' unit", DeprecationWarning)  # NumPy 2.5
        assert np.isnat(first(np.zeros(1, "M8[ns]"), [np.datetime64("NaT")]))
        assert first(np.zeros(1, "m8[s]"), np.array([5], "m8")) == np.timedelta64(5, "s")
    assert first(np.zeros(1, "M8[s]"), np.array([2000], "M8[ms]")) == np.datetime64(2, "s")
    assert first(np.zeros(1, "f2"), [1e6]) == np.inf
    assert first(np.zeros(1, "f4"), [1 + 2**-40]) == 1
    padded = np.dtype([("a", "i1"), ("b", "i4")], align=True)
    assert first(np.zeros(1, padded), np.array([(1, 2)], [("a", "i4"), ("b", "i8")])).item() == (1, 2)
    nothing = np.array([np.nan, "a"], Text(na_object=np.nan))
    assert gs.scatter_update(np.array(["x", "y"], Text(na_object=None)), [0, 1], nothing).tolist() == [None, "a"]


def test_text_is_not_cut_on_its_way_to_out() -> None:
    words = np.array(["abc", "d"])
    narrow = np.array(["", ""], "U1")
    for call in (lambda: gs.gather(words, [0, 1], out=narrow), lambda: gs.at(words)[:].get(out=narrow),
                 lambda: gs.at(words)[1].set("x", out=narrow)):  # fmt: skip
        with pytest.raises(OpValueError, match=rf"result\[0\] = 'abc' does not fit in out of type {np.dtype('U1')}"):
            call()
        assert narrow.tolist() == ["", ""]
    assert gs.gather(words, [1, 1], out=narrow).tolist() == ["d", "d"]
    with pytest.raises(OpTypeError, match=f"out has type {np.dtype('U1')}, but the result has"):
        gs.gather(np.array([b"\xff"]), [0, 0], out=narrow)


def test_chunks_that_differ_from_the_type_of_their_array() -> None:
    da = pytest.importorskip("dask.array")

    def declared(values: Any, dtype: str) -> Any:
        made = da.from_array(np.array(values), chunks=2)
        return da.Array(made.dask, made.name, made.chunks, dtype=dtype)

    floats, data = declared([0.7, 1.2, 2.9], "i8"), da.arange(6, chunks=2)
    for call in (
        lambda: gs.gather(data, floats),
        lambda: gs.gather(data.rechunk(-1), floats),
        lambda: gs.scatter_update(data, floats, np.zeros(3, int)),
        lambda: gs.tensor_scatter(da.zeros((3, 4), chunks=2), np.zeros((3, 1)), floats, axis=1),
    ):
        with pytest.raises(OpTypeError, match="indices must be integers, not float64"):
            call().compute(scheduler="synchronous")
    for chunks in (2, -1):
        with pytest.raises(OpTypeError, match="updates of type float64 can't be stored in"):
            gs.scatter_update(data.rechunk(chunks), [0, 1, 2], floats).compute(scheduler="synchronous")


def test_a_chunk_says_where_its_value_stands_in_the_whole() -> None:
    da = pytest.importorskip("dask.array")
    updates = da.from_array(np.array([[1, 2, 3], [4, 5, 300]]), chunks=1)
    with pytest.raises(OpValueError, match=r"updates\[1, 2\] = 300 does not fit in data of type int8"):
        gs.scatter_update(da.zeros((4, 3), dtype="i1", chunks=2), [3, 0], updates).compute(scheduler="synchronous")
    past = da.zeros((2, 3, 1), dtype="i1", chunks=1)
    windows = da.from_array(np.array([[[1]], [[200]]]), chunks=1)
    with pytest.raises(OpValueError, match=r"update\[1, 0, 0\] = 200 does not fit in past_cache of type int8"):
        gs.tensor_scatter(past, windows, np.array([0, 2])).compute(scheduler="synchronous")


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_long_floats_are_moved_but_not_combined(dtype: Any) -> None:
    data = (np.arange(6) + np.longdouble(2) ** -60).astype(dtype).reshape(2, 3)
    index = np.array([1, 0])
    assert np.array_equal(gs.gather(data, index), data[::-1])
    assert np.array_equal(gs.gather_elements(data, index[:, np.newaxis]), data[::-1, :1])
    assert np.array_equal(gs.gather_nd(data, index[:, np.newaxis]), data[::-1])
    assert np.array_equal(gs.scatter_update(data, index, data), data[::-1])
    assert np.array_equal(gs.at(data)[index, 1].get(), data[index, 1])
    if np.dtype(dtype).itemsize == np.dtype("c16" if np.dtype(dtype).kind == "c" else "f8").itemsize:
        pytest.skip("here it is the type of twice eight bytes or eight itself")
    for reduction in ("add", "sub", "mul", "min", "max", "mean"):
        with pytest.raises(OpTypeError, match="which can only be moved; convert data and updates to"):
            gs.scatter_update(data, index, data, reduction=reduction)
    with pytest.raises(OpTypeError, match="which can only be moved; convert"):
        gs.prepare(index, 2).reduce(data, "sum")


@pytest.mark.parametrize("step", [-1, 2])
def test_long_strings_with_strides(step: int) -> None:
    """NumPy 2.4 corrupts strings in slices of ``flat`` that it does not store inline."""
    texts = ["a text that is too long to be stored inline", "", "x", "another text that is too long to be inline"]
    updates = np.array(texts, np.dtypes.StringDType())[::step]
    data = np.array(["old"] * len(updates), object)
    result = gs.scatter_update(data, np.arange(len(updates)), updates)
    assert result.tolist() == texts[::step]
