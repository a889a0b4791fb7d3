// From a Call to a result.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "call.hpp"
#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "route.hpp"
#include "signals.hpp"

namespace gs {
namespace {

// Whether kernels can write to `out` itself: it is contiguous and apart from all that is read.
bool writes_directly(const Call& call) {
    if (!PyArray_ISCARRAY(array(call.out)) || overlap(array(call.indices), array(call.out))) return false;
    if (call.updates && overlap(array(call.updates), array(call.out))) return false;
    if (is_scatter(call.kernel) && call.out == call.data) return true;
    // What needs accumulators may run out of memory after data was copied to out.
    const bool accumulates =
        call.reduction == Reduction::mean || call.accumulate != Accumulate::step || !call.include_self;
    return !overlap(array(call.data), array(call.out)) && !(is_scatter(call.kernel) && accumulates);
}

// Runs the kernel; the arrays are contiguous and their shapes agree with the plan.
bool run_kernel(const Call& call, const Plan& plan, const Layout& layout, const Index& index,
                const std::vector<Span>& spans, const Ref& data, const Ref& updates, PyArrayObject* out) {
    const int64_t item_size = PyArray_ITEMSIZE(out);
    if (!is_scatter(call.kernel)) {
        return plan.form == Form::rows
                   ? gather_rows(plan.rows, index, layout, bytes(data.array()), bytes(out), item_size)
                   : gather_lanes(plan.lanes, index, bytes(data.array()), bytes(out), item_size);
    }
    const DType dtype = element_type(PyArray_DESCR(out));
    const Combine combine{dtype, item_size, call.reduction, call.include_self, call.accumulate};
    return plan.form == Form::rows ? scatter_rows(plan.rows, index, spans, bytes(updates.array()), bytes(out), combine)
                                   : scatter_lanes(plan.lanes, index, bytes(updates.array()), bytes(out), combine);
}

// A new array for the result; for a scatter it holds a copy of data.
Ref new_output(const Call& call, const Plan& plan) {
    if (!is_scatter(call.kernel)) return new_array(PyArray_DESCR(array(call.data)), plan.slots);
    Ref out = new_array(PyArray_DESCR(array(call.data)), shape_of(array(call.data)));
    return out && copy_data(call.data, out.array(), Stop::at_signals) ? std::move(out) : Ref();
}

// Whether a result for `out` is small enough beside the indices that it costs less to make it in an array of its own
// and copy it than to check all indices before the first write.
bool is_small_beside(const Call& call, PyArrayObject* indices) {
    return is_scatter(call.kernel) && call.rule.mode == Mode::raise &&
           PyArray_NBYTES(array(call.out)) <= PyArray_NBYTES(indices) / 4;
}

// Whether kernels can work on the arguments as they are.
bool takes(const Call& call, IndexType& type) {
    if (!is_plain(call.data) || !is_plain(call.indices) || !index_type(array(call.indices), type)) return false;
    if (call.updates && (!is_plain(call.updates) || !same_type(array(call.data), array(call.updates)))) return false;
    // NumPy makes a new array of zero-width text one character wide.
    if (is_text(array(call.data)) && PyArray_ITEMSIZE(array(call.data)) == 0) return false;
    const bool computes = call.reduction != Reduction::none;
    if (computes && (is_text(array(call.data)) || PyArray_ISBYTESWAPPED(array(call.data)))) return false;
    return !call.out ||
           (is_plain(call.out) && same_type(array(call.out), array(call.data)) && PyArray_ISWRITEABLE(array(call.out)));
}

// Arguments under headers of their own: while the interpreter lock is released, or NumPy releases it, others may give
// the caller's arrays other types and shapes.
class OwnHeaders {
  public:
    // False: an exception is set.
    bool hold(Call& call) {
        PyObject** const places[] = {&call.data, &call.indices, &call.updates, &call.out};
        PyObject* const given[] = {call.data, call.indices, call.updates, call.out};
        for (int i = 0; i < 4; ++i) {
            if (!given[i]) continue;
            const auto same = static_cast<int>(std::find(given, given + i, given[i]) - given);
            if (same == i) headers_[i] = Ref(PyArray_View(array(given[i]), nullptr, &PyArray_Type));
            *places[i] = headers_[same].get();
            if (!*places[i]) return false;
        }
        return true;
    }

  private:
    Ref headers_[4];
};

// Elements of a gather's output and of a scatter's updates.
int64_t slots_of(const Plan& plan) {
    if (plan.form == Form::lanes) return plan.lanes.elements;
    return plan.rows.batch * plan.rows.outer * plan.rows.count * plan.rows.width;
}

// Whether the interpreter lock may be released on the way.
bool may_unlock(const Call& call, const Plan& plan) {
    if (!is_contiguous(call.data) || !is_contiguous(call.indices)) return true;
    if (call.updates && !is_contiguous(call.updates)) return true;
    if (call.out && !is_contiguous(call.out)) return true;
    if (!is_scatter(call.kernel) && !call.out) return false;  // not before all is known
    const int64_t item_size = PyArray_ITEMSIZE(array(call.data));
    return slots_of(plan) * item_size + PyArray_NBYTES(array(call.data)) + PyArray_NBYTES(array(call.indices)) >
           unlock_bytes;
}

// Whether elements can be reduced so: exact sums are of real numbers, and there are no exact products.
Outcome check_reduction(const Call& call) {
    const DType dtype = element_type(PyArray_DESCR(array(call.data)));
    if (!knows(dtype, call.reduction)) return raise_reduction(call);
    const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
    const bool whole = dtype < DType::float16;  // these wrap: what is added up is exact
    const bool has_exact = call.reduction == Reduction::mul ? whole : !complex || call.reduction == Reduction::none;
    return call.accumulate != Accumulate::exact || has_exact ? Outcome::done : raise_accumulate(call);
}

// The name of what is wrong with the shapes; null when they fit.
const char* find_fault(const Call& call, Plan& plan) {
    const Shape data = shape_of(array(call.data)), indices = shape_of(array(call.indices));
    const Fault fault = make_plan(call.kernel, data, indices, call.axis, call.batch_dims, plan);
    if (fault != Fault::none) return name(fault);
    // What a scatter copies and counts is a few times the data, at most.
    const int64_t item_size = std::max<int64_t>(PyArray_ITEMSIZE(array(call.data)), 1);
    const int64_t bytes = is_scatter(call.kernel) ? times(PyArray_SIZE(array(call.data)), 64) : slots_of(plan);
    if (times(bytes, item_size) == INT64_MAX) return name(Fault::too_large);
    if (call.updates && !(shape_of(array(call.updates)) == plan.slots)) return "updates_shape";
    if (call.out && !(shape_of(array(call.out)) == (call.updates ? data : plan.slots))) return "out_shape";
    return nullptr;
}

// An index box that was expanded over all of data off the axis, as graph libraries do, says the same thing once for a
// whole slice: it is replaced by the line along the axis, and the plan by one of rows. A box of one dim is such a line.
Ref without_expansion(const Call& call, Plan& plan) {
    PyArrayObject* const indices = array(call.indices);
    const int rank = PyArray_NDIM(indices);
    const int64_t axis = call.axis + (call.axis < 0 ? rank : 0);
    bool expanded = plan.form == Form::lanes && PyArray_SIZE(indices) > 0;
    for (int d = 0; expanded && d < rank; ++d)
        expanded = d == axis || (PyArray_DIM(indices, d) == PyArray_DIM(array(call.data), d) &&
                                 (PyArray_STRIDE(indices, d) == 0 || PyArray_DIM(indices, d) == 1));
    Plan line_plan;
    const Shape data = shape_of(array(call.data));
    const int along = static_cast<int>(axis);
    if (!expanded || plan_axis(data, Shape(&plan.slots.dim[along], 1), axis, 0, line_plan) != Fault::none)
        return borrow(call.indices);
    npy_intp length = PyArray_DIM(indices, along), stride = PyArray_STRIDE(indices, along);
    Py_INCREF(PyArray_DESCR(indices));
    Ref line(PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(indices), 1, &length, &stride, PyArray_DATA(indices), 0,
                                  nullptr));
    if (!line || PyArray_SetBaseObject(line.array(), Py_NewRef(call.indices)) < 0) return Ref();
    plan = line_plan;
    return line;
}

// Whether so many rows are taken whose elements lie far apart that it is better to copy all data in order first.
bool scattered(const Rows& rows, const Layout& layout) {
    const int inner = layout.pieces.rank - 1;
    return inner >= 0 && std::abs(layout.piece_stride[inner]) > std::abs(layout.row_stride) &&
           rows.count > rows.data_rows / 8;
}

// Plans a gather from data with strides; false: it has to be made contiguous.
bool plan_strides(const Call& call, Plan& plan, Layout& layout) {
    PyArrayObject* const data = array(call.data);
    const int64_t item_size = PyArray_ITEMSIZE(data);
    const Shape shape = shape_of(data);
    if (!PyArray_ISALIGNED(data) || item_size == 0) return false;
    if (plan.form == Form::rows)
        return lay_out(plan.rows, shape, strides_of(data), item_size, layout) && !scattered(plan.rows, layout);
    Shape strides;
    for (int64_t stride : strides_of(data)) {
        if (stride < 0 || stride % item_size != 0) return false;
        strides.push(stride / item_size);
    }
    return plan_elements(shape, shape_of(array(call.indices)), call.axis, plan, &strides) == Fault::none;
}

// How a call is carried out, which follows from its headers: `run` does it, `explain` tells it.
struct Way {
    Plan plan;
    Ref indices;  // a line if they were expanded
    bool reads_strides = false;
    bool copies_data = false, copies_indices = false, copies_updates = false;  // first, into contiguous arrays
    bool made_apart = false;  // the result is copied to `out` in the end
    Layout layout;            // of data with strides
    Shape lane;

    bool rows() const { return plan.form == Form::rows; }
    Index index(const Call& call, PyArrayObject* contiguous_indices, IndexType type) const {
        return Index(PyArray_DATA(contiguous_indices), type, rows() ? plan.rows.dims : lane,
                     rows() ? layout.weights : lane, call.rule);
    }
    // Bytes that the call takes for arrays, beside inputs and output.
    int64_t copied_bytes(const Call& call) const {
        return (copies_data ? PyArray_NBYTES(array(call.data)) : 0) +
               (copies_indices ? PyArray_NBYTES(indices.array()) : 0) +
               (copies_updates ? PyArray_NBYTES(array(call.updates)) : 0) +
               (made_apart ? PyArray_NBYTES(array(call.out)) : 0);
    }
};

// `way` has the plan. False: an exception is set.
bool choose_way(const Call& call, Way& way) {
    way.indices = without_expansion(call, way.plan);
    if (!way.indices) return false;
    const bool scatter = is_scatter(call.kernel);
    way.reads_strides = !scatter && !is_contiguous(call.data) && plan_strides(call, way.plan, way.layout);
    way.copies_data = !scatter && !is_contiguous(call.data) && !way.reads_strides;
    way.copies_indices = !is_contiguous(way.indices.get());
    way.copies_updates = scatter && !is_contiguous(call.updates);
    way.made_apart = call.out && (!writes_directly(call) || is_small_beside(call, way.indices.array()));
    if (!way.rows())
        way.lane.push(way.plan.lanes.size);
    else if (!way.reads_strides)
        lay_out(way.plan.rows, PyArray_ITEMSIZE(array(call.data)), way.layout);
    return true;
}

// Runs part of a call, which is false for a bad index; a large one without the interpreter lock.
template <class F>
Outcome unlocked(bool large, bool may_stop, int64_t bytes_per_index, F&& part) {
    if (!large) return part() ? Outcome::done : Outcome::bad_index;
    Unlocked unlocked(true);
    Signals signals(unlocked, bytes_per_index);
    const Watched watched(may_stop ? &signals : nullptr);
    const bool good = part();
    return signals.stopped() ? Outcome::failed : good ? Outcome::done : Outcome::bad_index;
}

// Whether the check of all indices before the first write also finds their spans.
bool surveys(const Call& call, const Plan& plan, const Index& index) {
    return plan.form == Form::rows && is_scatter(call.kernel) && plan.rows.dims.rank > 0 &&
           plan.rows.batch * plan.rows.count >= 8 * span_tuples && !index.may_skip();
}

Outcome carry_out(const Call& call, const Way& way, IndexType type, PyObject*& result) {
    const bool scatter = is_scatter(call.kernel), rows = way.rows();
    const Plan& plan = way.plan;
    const Ref indices = contiguous(way.indices.get());
    const Ref data = !indices ? Ref() : way.copies_data ? contiguous(call.data) : borrow(call.data);
    const Ref updates = !data || !scatter ? Ref() : contiguous(call.updates);
    if (!data || (scatter && !updates)) return Outcome::failed;
    Ref out;
    const bool writes_out = call.out && !way.made_apart;
    try {
        out = writes_out ? borrow(call.out) : new_output(call, plan);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    if (!out) return Outcome::failed;

    const Index index = way.index(call, indices.array(), type);
    const int64_t item_size = PyArray_ITEMSIZE(out.array());
    const bool large = PyArray_NBYTES(out.array()) + PyArray_NBYTES(indices.array()) +
                           (updates ? PyArray_NBYTES(updates.array()) : 0) >
                       unlock_bytes;
    std::vector<Span> spans;
    try {
        if (writes_out) {  // the caller's array is not written to before all is known to be well
            const int64_t tuples = rows ? plan.rows.batch * plan.rows.count : plan.lanes.elements;
            const Outcome checked = unlocked(large, true, PyArray_ITEMSIZE(indices.array()), [&] {
                return surveys(call, plan, index) ? find_spans(index, tuples, spans) : index.check(tuples);
            });
            if (checked != Outcome::done) return checked;
        }
        if (writes_out && scatter && call.out != call.data && !copy_data(call.data, out.array(), Stop::never))
            return Outcome::failed;
        const int64_t row_size = rows ? plan.rows.width * item_size : item_size;
        const Outcome moved =
            unlocked(large, !writes_out, row_size, [&] {  // what is begun in the caller's array is ended
                return run_kernel(call, plan, way.layout, index, spans, data, updates, out.array());
            });
        if (moved != Outcome::done) return moved;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return Outcome::failed;
    }
    if (way.made_apart && !copy_data(out.get(), array(call.out), Stop::never)) return Outcome::failed;
    result = way.made_apart ? Py_NewRef(call.out) : out.release();
    return Outcome::done;
}

}  // namespace

const char* name(Kernel kernel) {
    static const char* const names[kernel_count] = {"gather",         "gather_elements",  "gather_nd",
                                                    "scatter_update", "scatter_elements", "scatter_nd"};
    return names[static_cast<int>(kernel)];
}

Fault make_plan(Kernel kernel, const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan& plan) {
    switch (kernel) {
        case Kernel::gather_elements:
        case Kernel::scatter_elements: return plan_elements(data, indices, axis, plan);
        case Kernel::gather_nd:
        case Kernel::scatter_nd: return plan_nd(data, indices, batch_dims, plan);
        default: return plan_axis(data, indices, axis, batch_dims, plan);
    }
}

Outcome run(const Call& given, PyObject*& result) {
#ifdef Py_GIL_DISABLED
    constexpr bool always = true;
#else
    constexpr bool always = false;
#endif
    IndexType type;
    Call call = given;
    OwnHeaders headers;
    if (!takes(call, type)) return Outcome::not_plain;
    if (always && !headers.hold(call)) return Outcome::failed;
    const ThreadsForCall threads(call.threads);
    const WithSubnormals subnormals;
    if (const Outcome known = check_reduction(call); known != Outcome::done) return known;
    Way way;
    if (const char* fault = find_fault(call, way.plan)) return raise_shape(call, fault, way.plan);
    if (!always && may_unlock(call, way.plan) && !headers.hold(call)) return Outcome::failed;
    const Outcome outcome = choose_way(call, way) ? carry_out(call, way, type, result) : Outcome::failed;
    if (outcome == Outcome::done && call.out) {  // not our header of it
        Py_DECREF(result);
        result = Py_NewRef(given.out);
    }
    return outcome == Outcome::bad_index ? raise_index(call) : outcome;
}

Outcome explain(const Call& call, PyObject*& facts) {
    IndexType type;
    if (!takes(call, type)) return Outcome::not_plain;
    if (const Outcome known = check_reduction(call); known != Outcome::done) return known;
    Way way;
    if (const char* fault = find_fault(call, way.plan)) return raise_shape(call, fault, way.plan);
    const ThreadsForCall threads(call.threads);
    if (!choose_way(call, way)) return Outcome::failed;
    const Ref indices = contiguous(way.indices.get());
    if (!indices) return Outcome::failed;
    const bool scatter = is_scatter(call.kernel), rows = way.rows();
    const Plan& plan = way.plan;
    const int64_t item_size = PyArray_ITEMSIZE(array(call.data));
    const Combine combine{element_type(PyArray_DESCR(array(call.data))), item_size, call.reduction, call.include_self,
                          call.accumulate};
    const Index index = way.index(call, indices.array(), type);
    Route route;
    if (rows)
        route = scatter ? route_scatter(plan.rows, combine) : route_gather(plan.rows, item_size);
    else
        route = scatter ? route_scatter(plan.lanes, combine, index) : route_gather(plan.lanes, item_size);
    const bool ordered = rows && scatter && may_be_ordered(plan.rows, combine, index) &&
                         seem_ordered(index, plan.rows.count, plan.rows.data_rows);
    if (ordered || (call.out && !way.made_apart && surveys(call, plan, index)))
        route.scratch += span_bytes(plan.rows.batch * plan.rows.count);
    const auto flag = [](bool value) { return value ? Py_True : Py_False; };
    facts = Py_BuildValue("{s:s,s:s,s:i,s:O,s:L,s:L,s:L,s:O,s:O,s:O,s:O,s:O,s:O}", "form", rows ? "rows" : "lanes",
                          "split", name(ordered ? Split::ordered : route.split), "threads",
                          route.split == Split::nothing && !ordered ? 1 : route.threads, "far", flag(route.far), "tile",
                          static_cast<long long>(route.tile), "kernel_bytes", static_cast<long long>(route.scratch),
                          "copied_bytes", static_cast<long long>(way.copied_bytes(call)), "reads_strides",
                          flag(way.reads_strides), "copies_data", flag(way.copies_data), "copies_indices",
                          flag(way.copies_indices), "copies_updates", flag(way.copies_updates), "made_apart",
                          flag(way.made_apart), "checked_first", flag(call.out && !way.made_apart));
    return facts ? Outcome::done : Outcome::failed;
}

bool knows_dtype(PyObject* dtype, Reduction reduction, bool& known) {
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(dtype, &descr)) return false;
    known = knows(element_type(descr), reduction);
    Py_DECREF(descr);
    return true;
}

}  // namespace gs
