"""`aggregate`: a statistic of the values of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gatherscatter.arrays.adapters import array_function
from gatherscatter.arrays.convert import element_type
from gatherscatter.errors import make_choice_error, make_error
from gatherscatter.functions.statistics import names, ordered
from gatherscatter.functions.statistics.layout import LabelLayout, lay_out
from gatherscatter.functions.statistics.names import DEFAULT_FILL, Function
from gatherscatter.functions.statistics.reductions import REDUCTIONS, Aggregation
from gatherscatter.messages.suggestions import name_candidates

_OP = "aggregate"


@array_function("group_idx", "a")
def aggregate(  # noqa: PLR0917
    group_idx: ArrayLike,
    a: ArrayLike,
    func: str | Callable[..., Any] = "sum",
    size: int | Sequence[int] | None = None,
    fill_value: Any = DEFAULT_FILL,
    order: str = "C",
    dtype: DTypeLike | None = None,
    axis: int | None = None,
    *,
    ddof: int | None = None,
    q: float | None = None,
    method: str | None = None,
    dx: float | None = None,
    reverse: bool | None = None,
    num_threads: int | None = None,
) -> np.ndarray:
    """Compute a statistic of the values of each group.

    The signature and the results are those of numpy-groupies 0.16. The guide "Statistics per group" lists the
    differences.

    Parameters
    ----------
    group_idx : array of integers
        The group of each value, in [0, size-1]. There are three forms:

        - shape (n,), for ``a`` of shape (n,) or, with ``axis``, for ``a`` of length n along the axis.
        - shape (k, n), for ``a`` of shape (n,): group ``group_idx[:, i]`` of a result with k dimensions.
        - a shape that can be broadcast to that of ``a``, with ``axis``: each line along the axis has its own labels.
    a : array of numbers
        The values. 'sum', 'prod' and 'len' also accept a single number. 'first', 'last', 'len', 'array', 'sort' and
        'nunique' accept values of any type.
    func : str or callable
        'sum', 'prod', 'mean', 'var', 'std', 'min', 'max', 'argmin', 'argmax', 'first', 'last', 'any', 'all', 'len',
        'median', 'quantile', 'percentile', 'nunique', 'sumofsquares', 'skew', 'kurt', 'trapezoid', 'anynan',
        'allnan' and 'array' have a result for each group. 'cumsum', 'cumprod', 'cummin', 'cummax' and 'sort' have one
        for each value. With the prefix 'nan', missing values are skipped: 'nanmean'. They are NaN, NaT, None, and
        objects that differ from themselves. NumPy's functions and Python's built-ins stand for their names. Any other
        function is called with the values of each group, as an array.
    size : int or sequence of int, optional
        The number of groups, or k numbers for labels of shape (k, n). By default, the largest label decides.
    fill_value : optional
        The result of a group without values. By default: 0 for 'sum', 'len' and the like, 1 for 'prod', False for
        'any' and 'all', -1 for 'argmin' and 'argmax', otherwise NaN, or 0 for types without NaN.
    order : {'C', 'F'}
        The order of the dimensions of groups with labels of shape (k, n), and the memory layout of the result.
    dtype : optional
        The type of the result. By default, that of NumPy's function. An integer type cuts off fractions. A result that
        it does not hold is a ValueError.
    axis : int, optional
        The axis of ``a`` that is grouped. Positions of 'argmin' and 'argmax' count along this axis.
    ddof : int
        For 'var' and 'std': the sum of squared deviations is divided by the number of values minus ``ddof``. The
        default is 0. A group without enough values gets ``fill_value``.
    q, method : float and str
        For 'quantile', 0 <= q <= 1, and 'percentile', 0 <= q <= 100; and how to interpolate: 'linear', 'lower',
        'higher', 'midpoint' or 'nearest', as in `numpy.quantile`. By default, the median.
    dx : float
        For 'trapezoid': the distance between two values. The default is 1.
    reverse : bool
        For 'sort': whether to sort in descending order.
    num_threads : int, optional
        The number of threads for this call.

    Returns
    -------
    array
        Results of groups have the shape ``size``; with ``axis``, that of ``a`` with the number of groups at the axis.
        Results of values have the shape of ``a``. The number of threads does not change any bit.

    Raises
    ------
    IndexError
        A label is negative or not below ``size``. The message names its position.
    TypeError
        The labels are not integers, or the function is not defined for values of this type.
    ValueError
        A shape, the name of a function, or an option is not valid, or ``fill_value`` or a result is not a value of the
        type.

    Notes
    -----
    Sums and means of floats are computed in float64, and rounded once. Means and variances of integers do not
    overflow. The variance is computed from distances from the first value, or in a second pass from the mean, with a
    correction for its rounding (Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983).

    >>> import numpy as np, gatherscatter as gs
    >>> group_idx, a = [0, 0, 2, 2, 2], np.array([1.0, 3.0, 2.0, np.nan, 5.0])
    >>> gs.aggregate(group_idx, a, "mean")
    array([ 2., nan, nan])
    >>> gs.aggregate(group_idx, a, "nanstd", ddof=1, fill_value=-1)
    array([ 1.41421356, -1.        ,  2.12132034])
    >>> gs.aggregate(group_idx, a, "nanargmax")
    array([ 1, -1,  4])

    The columns of a table, and a function of Python:

    >>> gs.aggregate([0, 1, 0], np.array([[1, 2], [3, 4], [5, 6]]), "sum", axis=0)
    array([[6, 8],
           [3, 4]])
    >>> gs.aggregate([0, 1, 0], np.array([1.0, 3.0, 5.0]), lambda values: values.max() - values.min())
    array([4., 0.])
    """
    function = func if callable(func) and not names.is_known(func) else names.find_function(_OP, func)
    options: dict[str, Any] = {"ddof": ddof, "q": q, "method": method, "dx": dx, "reverse": reverse}
    if "q" in names.OPTIONS.get(getattr(function, "name", ""), ()):
        _refuse_quantile_as_size(size)
    layout = lay_out(_OP, group_idx, a, size, order, axis)
    if not isinstance(function, Function):
        _read_options(Function("sum", False), getattr(func, "__name__", repr(func)), options)
        return _finish(_apply(function, layout, fill_value, dtype, num_threads), order)
    chosen = _read_options(function, str(function), options)
    if func in ("rsorted", "dsort"):
        chosen["reverse"] = True
    values = layout.values
    if values.ndim == 0:
        layout = _spread_number(function, layout)
        values = layout.values
    _check_type(function, values.dtype)
    result_type = names.result_dtype(_OP, function, values.dtype, dtype)
    fill = names.choose_fill(_OP, function, fill_value, result_type)
    call = Aggregation(_OP, function, layout, result_type, fill, options=chosen, num_threads=num_threads)
    compute = REDUCTIONS.get(function.name) or ordered.ORDERED[function.name]
    made = compute(call)
    shape = layout.shape_values if function.name in names.RUNNING else layout.shape_groups
    return _finish(shape(made), order)


def _refuse_quantile_as_size(size: Any) -> None:
    if isinstance(size, float):
        raise make_error("integer", _OP, input="size", value=size, advice=name_candidates([f"q={size}"]))


def _apply(
    function: Callable[..., Any], layout: LabelLayout, fill_value: Any, dtype: DTypeLike | None, num_threads: int | None
) -> np.ndarray:
    """A function of Python. Its results are float64, unless a type is given."""
    if layout.values.ndim == 0:
        raise make_error("single_number", _OP, func=getattr(function, "__name__", repr(function)))
    result_type = np.dtype(np.float64 if dtype is None else dtype)
    stand_in = Function("first", False)  # its default is NaN, or 0 for types without NaN
    default_type = layout.values.dtype if dtype is None and fill_value is DEFAULT_FILL else result_type
    fill = names.choose_fill(_OP, stand_in, fill_value, default_type)
    call = Aggregation(_OP, stand_in, layout, result_type, fill, options={}, num_threads=num_threads)
    return layout.shape_groups(ordered.apply_function(call, function))


def _finish(result: np.ndarray, order: str) -> np.ndarray:
    return np.asarray(result, order="F" if order == "F" else "C")


def _read_options(function: Function, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of the function, with their defaults."""
    known = names.OPTIONS.get(function.name, {})
    for option, value in given.items():
        if value is not None and option not in known:
            raise make_error("func_option", _OP, input=option, func=name)
    chosen = {option: default if given[option] is None else given[option] for option, default in known.items()}
    for option, (wanted, kinds) in _OPTION_TYPES.items():
        value = chosen.get(option)
        is_flag = isinstance(value, bool | np.bool)
        if value is not None and (not isinstance(value, kinds) or is_flag != (option == "reverse")):
            raise make_error("option_type", _OP, input=option, wanted=wanted, value=value)
    if abs(chosen.get("ddof", 0)) >= 2**62:
        raise make_error("option_type", _OP, input="ddof", wanted="a smaller integer", value=chosen["ddof"])
    if "method" in chosen and chosen["method"] not in ordered.METHODS:
        raise make_choice_error(_OP, "method", chosen["method"], ordered.METHODS)
    if "q" in chosen:
        highest = 100 if function.name == "percentile" else 1
        if not 0 <= chosen["q"] <= highest:
            raise make_error("quantile_range", _OP, value=chosen["q"], highest=highest)
        chosen["q"] = chosen["q"] / highest
    return chosen


_REALS = (int, float, np.integer, np.floating)
_OPTION_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "ddof": ("an integer", (int, np.integer)),
    "q": ("a number", _REALS),
    "dx": ("a number", _REALS),
    "reverse": ("True or False", (bool, np.bool)),
}


def _spread_number(function: Function, layout: LabelLayout) -> LabelLayout:
    """A single number as the value of all members."""
    if function.name not in names.OF_NUMBERS or function.skip_nan:
        raise make_error("single_number", _OP, func=str(function))
    line = np.broadcast_to(layout.values, (1, layout.labels.size, 1))
    return layout._replace(values=np.ascontiguousarray(line))


def _check_type(function: Function, dtype: np.dtype[Any]) -> None:
    if dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8):
        return
    if element_type(dtype) == "bfloat16" or function.name in names.OF_ANY_TYPE:
        return
    raise make_error("values_type", _OP, func=str(function), type=dtype)
