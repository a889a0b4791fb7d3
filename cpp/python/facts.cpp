#include "facts.hpp"

#include "call.hpp"
#include "machine.hpp"

namespace gs {
namespace {

// Reads a tuple of sizes as a shape. False: an exception is set.
bool read_shape(PyObject* value, Shape& shape) {
    const Ref sizes(PySequence_Tuple(value));
    if (!sizes) return false;
    if (PyTuple_GET_SIZE(sizes.get()) > max_rank) {
        PyErr_SetString(PyExc_ValueError, "more dimensions than NumPy has");
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes.get()); ++i) {
        const int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes.get(), i));
        if (size < 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a negative dimension");
            return false;
        }
        shape.push(size);
    }
    return true;
}

// Reads a number. A number beyond 64 bits becomes one that is out of every range.
bool read_number(PyObject* value, int64_t& number) {
    int overflow = 0;
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) number = overflow > 0 ? INT64_MAX : INT64_MIN;
    return number != -1 || !PyErr_Occurred();
}

}  // namespace

Ref tuple_of(const Shape& shape) {
    Ref tuple(PyTuple_New(shape.rank));
    for (int i = 0; tuple && i < shape.rank; ++i) {
        PyObject* const size = PyLong_FromLongLong(shape[i]);
        if (!size) return Ref();
        PyTuple_SET_ITEM(tuple.get(), i, size);
    }
    return tuple;
}

Facts facts_of(const Plan& plan) {
    Facts facts;
    facts.add("form", name(plan.form));
    if (plan.form == Form::rows) {
        facts.add("batch", plan.rows.batch);
        facts.add("outer", plan.rows.outer);
        facts.add("count", plan.rows.count);
        facts.add("width", plan.rows.width);
        facts.add("dims", plan.rows.dims);
    } else {
        facts.add("before", plan.lanes.before);
        facts.add("before_stride", plan.lanes.before_stride);
        facts.add("count", plan.lanes.count);
        facts.add("size", plan.lanes.size);
        facts.add("stride", plan.lanes.stride);
        facts.add("after", plan.lanes.after);
        facts.add("after_stride", plan.lanes.after_stride);
    }
    facts.add("slots", plan.slots);
    return facts;
}

void add_processor(Facts& facts) {
    facts.add("instruction_set", instruction_set_names[static_cast<int>(instruction_set)]);
    facts.add("cache_bytes", cache_bytes);
}

// plan(kernel, data_shape, indices_shape, axis=0, batch_dims=0)
PyObject* plan_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    if (n < 3 || n > 5) {
        PyErr_SetString(PyExc_TypeError, "plan() takes the name of a kernel, two shapes, axis and batch_dims");
        return nullptr;
    }
    const int kernel = find_name(arguments[0], kernel_names);
    if (kernel < 0) {
        PyErr_SetString(PyExc_ValueError, "no such kernel");
        return nullptr;
    }
    Shape data, indices;
    int64_t axis = 0, batch_dims = 0;
    if (!read_shape(arguments[1], data) || !read_shape(arguments[2], indices) ||
        (n > 3 && !read_number(arguments[3], axis)) || (n > 4 && !read_number(arguments[4], batch_dims)))
        return nullptr;
    Plan plan;
    const Fault fault = make_plan(static_cast<Kernel>(kernel), data, indices, axis, batch_dims, plan);
    if (fault == Fault::none) return facts_of(plan).take().release();
    PyErr_SetString(PyExc_ValueError, name(fault));
    return nullptr;
}

}  // namespace gs
