// Finds the indices that are out of range, for errors.py and hints.py.
#include <algorithm>
#include <new>

#include "bad_indices.hpp"
#include "call.hpp"
#include "facts.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "signals.hpp"

namespace gs {
namespace {

Ref number(IndexValue value) {
    if (!value.negative) return Ref(PyLong_FromUnsignedLongLong(value.magnitude));
    return Ref(PyLong_FromLongLong(-static_cast<long long>(value.magnitude - 1) - 1));  // avoids overflow for -2^63
}

// Returns the first `count` of some items as a tuple of numbers.
template <class T, class F>
Ref tuple_of_first(const T& items, int64_t count, F&& number_of) {
    Ref tuple(PyTuple_New(count));
    for (int64_t i = 0; tuple && i < count; ++i) {
        PyObject* const item = number_of(items[static_cast<size_t>(i)]).release();
        if (!item) return Ref();
        PyTuple_SET_ITEM(tuple.get(), i, item);
    }
    return tuple;
}

// Returns the name of a sentence of sentences.toml and its values. An empty name means that there is no hint.
Ref hint_of(const IndexHint& hint) {
    using enum IndexHint::Kind;
    Facts values;
    const char* name = "";
    switch (hint.kind) {
        case none: break;
        case refused_negatives: name = "refused_negatives"; break;
        case counted_from_one: name = "counted_from_one"; break;
        case unsigned_type:
        case overflow:
            name = hint.kind == overflow ? "overflow" : "unsigned";
            values.add("value", number(hint.value));
            values.add("meant", hint.meant);
            break;
        case swapped_columns:
            name = "swapped_columns";
            values.add("i", hint.i);
            values.add("j", hint.j);
            break;
        case wrong_axis:
            name = "wrong_axis";
            values.add("axis", hint.i);
            break;
        case forgotten_batch_dims:
            name = "forgotten_batch_dims";
            values.add("size", hint.meant);
            break;
    }
    const Ref dict = values.take();
    return Ref(dict ? Py_BuildValue("(sO)", name, dict.get()) : nullptr);
}

// Reads index tuples [n, k] into k axes of a shape, from `first_axis` on. False: the arguments are not index tuples.
bool read_tuples(PyObject* const* arguments, Ref& held, IndexTuples& tuples) {
    IndexType type{};
    if (!PyArray_CheckExact(arguments[0]) || PyArray_NDIM(array(arguments[0])) < 1 ||
        !index_type(array(arguments[0]), type) || !PyTuple_Check(arguments[1]) ||
        PyTuple_GET_SIZE(arguments[1]) > max_rank) {
        refuse("index tuples, a shape and the first axis that they index are wanted");
        return false;
    }
    PyArrayObject* const given = array(arguments[0]);
    const int64_t columns = PyArray_DIM(given, PyArray_NDIM(given) - 1), axis = PyLong_AsLongLong(arguments[2]);
    Shape shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments[1]); ++i)
        shape.push(PyLong_AsLongLong(PyTuple_GET_ITEM(arguments[1], i)));
    if (PyErr_Occurred()) return false;
    if (axis < 0 || axis > shape.rank || columns > shape.rank - axis) {
        refuse("index tuples have more columns than there are axes");
        return false;
    }
    held = contiguous(arguments[0]);
    if (!held) return false;
    const int64_t count = columns > 0 ? PyArray_SIZE(given) / columns : 0;
    tuples = {PyArray_DATA(held.array()), type, count, shape, static_cast<int>(axis), static_cast<int>(columns)};
    return true;
}

// Runs a search that can be interrupted. False: an exception is set.
template <class F>
bool search(F&& find) {
    try {
        GilRelease gil_release(true);
        InterruptCheck interrupts(gil_release);
        const ScopedStopToken scope(&interrupts);
        find();
        return !interrupts.interrupted();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return false;
    }
}

}  // namespace

// find_bad_indices(tuples, shape, first_axis, mode, negative, may_be_batched)
PyObject* find_bad_indices_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const int mode = n == 6 ? find_name(arguments[3], mode_names) : -1,
              negative = n == 6 ? find_name(arguments[4], negative_names) : -1;
    if (mode < 0 || negative < 0 || !PyBool_Check(arguments[5]))
        return refuse("find_bad_indices() takes index tuples, a shape, an axis, a rule and a bool");
    Ref held;
    IndexTuples tuples{};
    if (!read_tuples(arguments, held, tuples)) return nullptr;
    tuples.may_be_batched = arguments[5] == Py_True;
    const Rule rule{static_cast<Mode>(mode), static_cast<Negative>(negative)};
    BadIndices bad;
    if (!search([&] { bad = find_bad_indices(tuples, rule); })) return nullptr;
    if (bad.count == 0) Py_RETURN_NONE;
    const int64_t shown = std::min(bad.count, BadIndices::shown);
    const Ref positions = tuple_of_first(bad.positions, shown, [](int64_t at) { return Ref(PyLong_FromLongLong(at)); });
    const Ref values = tuple_of_first(bad.values, shown, number);
    const Ref least = number(bad.least), greatest = number(bad.greatest), hint = hint_of(bad.hint);
    if (!positions || !values || !least || !greatest || !hint) return nullptr;
    return Py_BuildValue("(LOOOOiO)", static_cast<long long>(bad.count), positions.get(), values.get(), least.get(),
                         greatest.get(), bad.axis, hint.get());
}

// find_index_hint(tuples, shape, first_axis, negative)
PyObject* find_index_hint_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n != 4 || !PyBool_Check(arguments[3]))
        return refuse("find_index_hint() takes index tuples, a shape, an axis and a bool");
    Ref held;
    IndexTuples tuples{};
    if (!read_tuples(arguments, held, tuples)) return nullptr;
    if (tuples.count == 0) return refuse("find_index_hint() takes at least one index");
    IndexHint hint;
    if (!search([&] { hint = find_index_hint(tuples, arguments[3] == Py_True); })) return nullptr;
    return hint_of(hint).release();
}

}  // namespace gs
