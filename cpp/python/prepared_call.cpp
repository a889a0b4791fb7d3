// Converts a Call to a PreparedCall.
#include "prepared_call.hpp"

#include <algorithm>
#include <cstdlib>

#include "facts.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Whether kernels can write to `out` directly: it is contiguous and does not overlap any input.
bool writes_directly(const Call& call) {
    if (!PyArray_ISCARRAY(array(call.out)) || overlap(array(call.indices), array(call.out))) return false;
    if (call.updates && overlap(array(call.updates), array(call.out))) return false;
    if (is_in_place(call)) return true;
    // A call with accumulators may run out of memory after data was copied to out.
    const bool accumulates =
        call.reduction == Reduction::mean || call.accumulate != Accumulate::step || !call.include_self;
    return !overlap(array(call.data), array(call.out)) && !(is_scatter(call.kernel) && accumulates);
}

// Whether kernels can work on the arguments without conversion in Python. `casts_updates`: the core casts updates.
bool accepts(const Call& call, IndexType& type, bool& casts_updates) {
    if (!is_plain(call.data) || !is_plain(call.indices) || !index_type(array(call.indices), type)) return false;
    if (call.updates && !is_plain(call.updates)) return false;
    casts_updates = call.updates && !same_type(array(call.data), array(call.updates));
    if (casts_updates && !can_cast(array(call.updates), PyArray_DESCR(array(call.data)))) return false;
    // NumPy makes new arrays of zero-width text one character wide.
    if (is_text(array(call.data)) && PyArray_ITEMSIZE(array(call.data)) == 0) return false;
    const bool computes = call.reduction != Reduction::none;
    if (computes && (is_text(array(call.data)) || PyArray_ISBYTESWAPPED(array(call.data)))) return false;
    return !call.out ||
           (is_plain(call.out) && same_type(array(call.out), array(call.data)) && PyArray_ISWRITEABLE(array(call.out)));
}

// Whether the call may release the interpreter lock.
bool may_release_gil(const Call& call, const Plan& plan, bool casts_updates) {
    if (casts_updates || !is_contiguous(call.data) || !is_contiguous(call.indices)) return true;
    if (call.updates && !is_contiguous(call.updates)) return true;
    if (call.out && !is_contiguous(call.out)) return true;
    if (!is_scatter(call.kernel) && !call.out) return false;  // the lock is kept until all facts are known
    const int64_t item_size = PyArray_ITEMSIZE(array(call.data));
    return count_elements(plan.slots) * item_size + PyArray_NBYTES(array(call.data)) +
               PyArray_NBYTES(array(call.indices)) >
           gil_release_bytes;
}

// Whether the elements support the reduction.
Outcome check_reduction(const Call& call) {
    const DType dtype = element_type(PyArray_DESCR(array(call.data)));
    if (!supports(dtype, call.reduction)) return raise_reduction(call);
    const bool exact = call.accumulate == Accumulate::exact;
    return !exact || supports_exact(dtype, call.reduction) ? Outcome::done : raise_accumulate(call);
}

// Returns the name of the fault in the shapes; null if they fit.
const char* find_fault(const Call& call, Plan& plan) {
    const Shape data = shape_of(array(call.data)), indices = shape_of(array(call.indices));
    const Fault fault = make_plan(call, data, indices, PyArray_ITEMSIZE(array(call.data)), plan);
    if (fault != Fault::none) return name(fault);
    if (call.updates && !(shape_of(array(call.updates)) == plan.slots)) return "updates_shape";
    if (call.out && !(shape_of(array(call.out)) == (call.updates ? data : plan.slots))) return "out_shape";
    return nullptr;
}

// Graph libraries expand indices over all of data off the axis. Such an index box repeats the same index for a whole
// slice. It is replaced by the line along the axis, and the plan by a plan of rows. A box with one dim is already such
// a line. Short lines of single elements stay: the overhead of each line would be larger than what it saves.
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
    constexpr int64_t short_line = 16;
    if (line_plan.rows.width == 1 && line_plan.rows.count < short_line && line_plan.rows.outer > 1)
        return borrow(call.indices);
    npy_intp length = PyArray_DIM(indices, along), stride = PyArray_STRIDE(indices, along);
    Py_INCREF(PyArray_DESCR(indices));
    Ref line(PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(indices), 1, &length, &stride, PyArray_DATA(indices), 0,
                                  nullptr));
    if (!line || PyArray_SetBaseObject(line.array(), Py_NewRef(call.indices)) < 0) return Ref();
    plan = line_plan;
    return line;
}

// Whether it is faster to copy all data into order first. This holds if the elements of a row lie far apart and the
// gather reads more than an eighth of the rows, if narrow rows lie apart and are read once on average, or if the
// elements of a row are not contiguous and are read twice on average. Repeated elements are only copied to narrow rows.
bool scattered(const Rows& rows, const Layout& layout) {
    const int inner = layout.pieces.rank - 1;
    const int64_t row_stride = std::abs(layout.row_stride),
                  step = inner >= 0 ? std::abs(layout.piece_stride[inner]) : 0;
    const int64_t row_size = saturating_multiply(layout.piece_size, count_elements(layout.pieces));
    const bool narrow = row_size < line_size && rows.count >= rows.data_rows;
    if (row_stride == 0) return false;
    if (inner >= 0 && step == 0) return narrow;
    if (step > row_stride) return rows.count > rows.data_rows / 8;
    if (inner >= 0) return rows.count / 2 >= rows.data_rows;
    return narrow && row_stride >= 2 * row_size;
}

// The same for a gather of elements. This holds if the elements that an index chooses from compete for a few sets of
// the caches, and at least half as many are gathered as data has.
bool scattered(const Lanes& lanes, int64_t last_stride, int64_t axis_bytes) {
    constexpr int64_t same_set = 2048, many = 64;           // bytes between addresses of one set, elements
    if (last_stride <= 1 || axis_bytes == 0) return false;  // contiguous or repeated
    return axis_bytes % same_set == 0 && lanes.size >= many && lanes.elements >= lanes.data_elements / 2;
}

// Plans a gather from data with strides. False: the data must be made contiguous.
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
    const int along = static_cast<int>(call.axis) + (call.axis < 0 ? shape.rank : 0);
    return !scattered(plan.lanes, strides[shape.rank - 1], strides[along] * item_size) &&
           plan_elements(shape, shape_of(array(call.indices)), call.axis, plan, &strides) == Fault::none;
}

// Checks types, shapes and attributes, and sets the plan.
Outcome check(PreparedCall& prepared, IndexType& type) {
#ifdef Py_GIL_DISABLED
    constexpr bool always = true;
#else
    constexpr bool always = false;
#endif
    Call& call = prepared.call;
    Plan& plan = prepared.kernel_call.plan;
    if (!accepts(call, type, prepared.casts_updates)) return Outcome::not_plain;
    if (always && !prepared.views.pin(call)) return Outcome::failed;
    if (const Outcome checked = check_reduction(call); checked != Outcome::done) return checked;
    if (const char* fault = find_fault(call, plan)) return raise_shape(call, fault, plan);
    if (!always && may_release_gil(call, plan, prepared.casts_updates) && !prepared.views.pin(call))
        return Outcome::failed;
    return Outcome::done;
}

// Whether the arrays allow streaming as the route plans it. A gather requires an aligned result, and a scatter a plain
// copy of its data.
bool may_stream(const PreparedCall& prepared) {
    const Call& call = prepared.call;
    if (is_scatter(call.kernel)) return is_contiguous(call.data) && (!is_in_place(call) || prepared.made_apart);
    return !prepared.writes_out() || is_unit_aligned(PyArray_DATA(array(call.out)));
}

bool may_stream_rows(const PreparedCall& prepared) {
    const KernelCall& call = prepared.kernel_call;
    return !prepared.writes_out() ||
           can_stream_rows(PyArray_DATA(array(prepared.call.out)), call.plan.rows.width * call.combine.item_size);
}

}  // namespace

bool is_in_place(const Call& call) {
    return is_scatter(call.kernel) && call.out && same_elements(array(call.out), array(call.data));
}

bool PinnedViews::pin(Call& call) {
    PyObject** const places[] = {&call.data, &call.indices, &call.updates, &call.out};
    PyObject* const given[] = {call.data, call.indices, call.updates, call.out};
    for (int i = 0; i < 4; ++i) {
        if (!given[i]) continue;
        const auto same = static_cast<int>(std::find(given, given + i, given[i]) - given);
        if (same == i) views_[i] = Ref(PyArray_View(array(given[i]), nullptr, &PyArray_Type));
        *places[i] = views_[same].get();
        if (!*places[i]) return false;
    }
    return true;
}

int64_t PreparedCall::copied_bytes() const {
    return (copies_data ? PyArray_NBYTES(array(call.data)) : 0) +
           (copies_indices ? PyArray_NBYTES(indices.array()) : 0) +
           (copies_updates ? PyArray_SIZE(array(call.updates)) * PyArray_ITEMSIZE(array(call.data)) : 0) +
           (made_apart ? PyArray_NBYTES(array(call.out)) : 0);
}

Outcome prepare(PreparedCall& prepared) {
    IndexType type;
    if (const Outcome checked = check(prepared, type); checked != Outcome::done) return checked;
    const Call& call = prepared.call;
    KernelCall& kernel_call = prepared.kernel_call;
    const Ref indices = without_expansion(call, kernel_call.plan);
    if (!indices) return Outcome::failed;
    const bool scatter = is_scatter(call.kernel), has_strides = !scatter && !is_contiguous(call.data);
    prepared.reads_strides = has_strides && plan_strides(call, kernel_call.plan, kernel_call.layout);
    prepared.copies_data = has_strides && !prepared.reads_strides;
    prepared.copies_indices = !is_contiguous(indices.get());
    prepared.copies_updates = scatter && (prepared.casts_updates || !is_contiguous(call.updates));
    prepared.made_apart = call.out && (!writes_directly(call) || is_cheaper_apart(call, PyArray_NBYTES(array(call.out)),
                                                                                  PyArray_NBYTES(indices.array())));
    prepared.indices = contiguous(indices.get());
    if (!prepared.indices) return Outcome::failed;
    complete(kernel_call, call, element_type(PyArray_DESCR(array(call.data))), PyArray_ITEMSIZE(array(call.data)),
             PyArray_DATA(prepared.indices.array()), type, !prepared.reads_strides);
    return Outcome::done;
}

Outcome check_call(const Call& call, PyObject*& result) {
    IndexType type;
    PreparedCall prepared(call);
    const Outcome checked = check(prepared, type);
    if (checked == Outcome::done) result = Py_NewRef(Py_None);
    return checked;
}

Outcome describe_call(const Call& call, PyObject*& facts) {
    const ScopedThreadLimit threads(call.threads);
    PreparedCall prepared(call);
    if (const Outcome ready = prepare(prepared); ready != Outcome::done) return ready;
    const Route& route = prepared.kernel_call.route;
    const bool divided = route.ordered || route.split != Split::serial;
    Facts all;
    all.add("plan", facts_of(prepared.kernel_call.plan).take());
    all.add("split", name(route.ordered ? Split::ordered : route.split));
    all.add("threads", divided ? route.threads : 1);
    add_processor(all);
    all.add("prefetch", route.prefetch);
    all.add("stream", route.stream && may_stream(prepared));
    all.add("stream_rows", route.stream_rows && may_stream_rows(prepared));
    all.add("tile", route.tile);
    all.add("kernel_bytes", route.scratch);
    all.add("copied_bytes", prepared.copied_bytes());
    all.add("reads_strides", prepared.reads_strides);
    all.add("copies_data", prepared.copies_data);
    all.add("copies_indices", prepared.copies_indices);
    all.add("copies_updates", prepared.copies_updates);
    all.add("made_apart", prepared.made_apart);
    all.add("checked_first", prepared.writes_out());
    facts = all.take().release();
    return facts ? Outcome::done : Outcome::failed;
}

}  // namespace gs
