// Runs a PreparedCall and returns its result.
#include <new>

#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "prepared_call.hpp"
#include "scratch.hpp"
#include "signals.hpp"

namespace gs {
namespace {

// Makes a new array for the result. For a scatter, it holds a copy of data.
Ref new_output(const Call& call, const KernelCall& kernel_call) {
    if (!is_scatter(call.kernel)) return new_array(PyArray_DESCR(array(call.data)), kernel_call.plan.slots);
    Ref out = new_array(PyArray_DESCR(array(call.data)), shape_of(array(call.data)));
    const bool copied = out && copy_data(call.data, out.array(), OnSignal::stop, kernel_call.route.stream);
    return copied ? std::move(out) : Ref();
}

// Runs part of a call, which returns false for a bad index.
template <class F>
Outcome run_checked(bool large, bool may_stop, int64_t bytes_per_index, F&& part) {
    bool good = true;
    if (!run_part(large, may_stop, bytes_per_index, [&] { good = part(); })) return Outcome::failed;
    return good ? Outcome::done : Outcome::bad_index;
}

Outcome raise_memory(const PreparedCall& prepared) {
    const Call& call = prepared.call;
    const Shape result = is_scatter(call.kernel) ? shape_of(array(call.data)) : prepared.kernel_call.plan.slots;
    return raise_memory(call.op, result, reinterpret_cast<PyObject*>(PyArray_DESCR(array(call.data))), "", nullptr);
}

Outcome carry_out(PreparedCall& prepared, PyObject*& result) {
    const Call& call = prepared.call;
    KernelCall& kernel_call = prepared.kernel_call;
    const bool scatter = is_scatter(call.kernel), writes_out = prepared.how.writes_out;
    PyObject* const read = scatter ? call.updates : call.data;
    const Ref source = prepared.casts_updates       ? cast(array(read), PyArray_DESCR(array(call.data)))
                       : prepared.how.reads_strides ? borrow(read)
                                                    : contiguous(read);
    if (!source && prepared.casts_updates && !PyErr_Occurred()) return Outcome::not_plain;  // a value does not fit
    Ref out = !source ? Ref() : writes_out ? borrow(call.out) : new_output(call, kernel_call);
    if (!out) return Outcome::failed;
    const bool large = size_in_bytes(out.array()) + size_in_bytes(prepared.indices.array()) +
                           (scatter ? size_in_bytes(source.array()) : 0) >
                       gil_release_bytes;
    if (writes_out) {  // all checks come before the first write to the caller's array
        const Outcome checked = run_checked(large, true, PyArray_ITEMSIZE(prepared.indices.array()),
                                            [&] { return check_indices(kernel_call); });
        if (checked != Outcome::done) return checked;
    }
    if (writes_out && scatter && !prepared.how.in_place &&
        !copy_data(call.data, out.array(), OnSignal::finish, kernel_call.route.stream))
        return Outcome::failed;
    const int64_t width = kernel_call.plan.form == Form::rows ? kernel_call.plan.rows.width : 1;
    const Outcome moved = run_checked(large, !writes_out,
                                      width * PyArray_ITEMSIZE(out.array()),  // writes to `out` are always finished
                                      [&] { return run(kernel_call, bytes(source.array()), bytes(out.array())); });
    if (moved != Outcome::done) return moved;
    if (prepared.how.made_apart && !copy_data(out.get(), array(call.out), OnSignal::finish)) return Outcome::failed;
    result = out.release();
    return Outcome::done;
}

}  // namespace

Outcome run(const Call& call, PyObject*& result) {
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals(is_scatter(call.kernel));
    PreparedCall prepared(call);
    Outcome outcome = prepare(prepared);
    if (outcome == Outcome::failed) name_memory_error(call.op);
    if (outcome == Outcome::done) {
        try {
            outcome = carry_out(prepared, result);
        } catch (const std::bad_alloc&) {
            return raise_memory(prepared);
        }
        if (outcome == Outcome::failed && PyErr_ExceptionMatches(PyExc_MemoryError)) return raise_memory(prepared);
    }
    if (outcome == Outcome::bad_index) return raise_index(prepared.call);
    if (outcome == Outcome::done && call.out) {  // returns the caller's array, not a view of it
        Py_DECREF(result);
        result = Py_NewRef(call.out);
    }
    return outcome;
}

}  // namespace gs
