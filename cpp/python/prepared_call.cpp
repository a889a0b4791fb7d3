// Converts a Call to a PreparedCall.
#include "prepared_call.hpp"

#include <algorithm>

#include "facts.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

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
bool may_release_gil(const PreparedCall& prepared, const MoveTensors& tensors) {
    if (prepared.casts_updates || !tensors.data.is_contiguous || !tensors.indices.is_contiguous) return true;
    if (!tensors.updates.is_contiguous || !tensors.out.is_contiguous) return true;
    // For a gather, the lock is kept until all facts are known.
    if (!is_scatter(prepared.call.kernel) && !tensors.out.present) return false;
    const int64_t moved = count_elements(prepared.kernel_call.plan.slots) * tensors.data.item_size;
    return moved + tensors.data.size + tensors.indices.size > gil_release_bytes;
}

// Whether the elements support the reduction.
Outcome check_reduction(const Call& call) {
    if (call.reduction == Reduction::none && call.accumulate == Accumulate::step) return Outcome::done;
    const DType dtype = element_type(PyArray_DESCR(array(call.data)));
    if (!supports(dtype, call.reduction)) return raise_reduction(call);
    const bool exact = call.accumulate == Accumulate::exact;
    return !exact || supports_exact(dtype, call.reduction) ? Outcome::done : raise_accumulate(call);
}

// Returns the line that indices repeat, as an array of the same memory.
Ref make_line(PyObject* indices, const StridedTensor& line) {
    npy_intp length = line.shape[0], stride = line.strides[0];
    Py_INCREF(PyArray_DESCR(array(indices)));
    Ref made(PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array(indices)), 1, &length, &stride, line.memory, 0,
                                  nullptr));
    return made && PyArray_SetBaseObject(made.array(), Py_NewRef(indices)) == 0 ? std::move(made) : Ref();
}

// Checks types, shapes and attributes, and sets the tensors and the plan.
Outcome check(PreparedCall& prepared, MoveTensors& tensors, IndexType& type) {
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
    describe(call.data, tensors.data);
    tensors.data.dtype = element_type(PyArray_DESCR(array(call.data)));
    describe(call.indices, tensors.indices);
    if (call.updates) describe(call.updates, tensors.updates);
    if (call.out) describe(call.out, tensors.out);
    if (const char* fault = plan_move(call, tensors.data, tensors.indices, tensors.updates, tensors.out, plan))
        return raise_shape(call, fault, plan);
    if (!always && may_release_gil(prepared, tensors) && !prepared.views.pin(call)) return Outcome::failed;
    return Outcome::done;
}

// The bytes of the arrays that a call copies.
int64_t copied_bytes(const Arrangement& how, const MoveTensors& tensors) {
    return (how.copies_data ? tensors.data.size : 0) + (how.copies_indices ? tensors.indices.size : 0) +
           (how.copies_updates ? count_elements(tensors.updates.shape) * tensors.data.item_size : 0) +
           (how.made_apart ? tensors.out.size : 0);
}

// Whether the call copies its data without a change of strides, and whether the route streams them.
bool streams_data(const PreparedCall& prepared) {
    const Arrangement& how = prepared.how;
    return prepared.kernel_call.route.stream && is_contiguous(prepared.call.data) && (!how.in_place || how.made_apart);
}

}  // namespace

bool PinnedViews::pin(Call& call) {
    PyObject** const members[] = {&call.data, &call.indices, &call.updates, &call.out};
    PyObject* const given[] = {call.data, call.indices, call.updates, call.out};
    for (int i = 0; i < 4; ++i) {
        if (!given[i]) continue;
        const auto same = static_cast<int>(std::find(given, given + i, given[i]) - given);
        if (same == i) views_[i] = Ref(PyArray_View(array(given[i]), nullptr, &PyArray_Type));
        *members[i] = views_[same].get();
        if (!*members[i]) return false;
    }
    return true;
}

Outcome prepare(PreparedCall& prepared) {
    IndexType type;
    MoveTensors tensors;
    if (const Outcome checked = check(prepared, tensors, type); checked != Outcome::done) return checked;
    const Call& call = prepared.call;
    prepared.how = arrange(call, prepared.casts_updates, tensors, prepared.kernel_call);
    prepared.copied_bytes = copied_bytes(prepared.how, tensors);
    const Ref indices = prepared.how.takes_line ? make_line(call.indices, tensors.indices) : borrow(call.indices);
    if (indices) prepared.indices = contiguous(indices.get());
    if (!prepared.indices) return Outcome::failed;
    complete(prepared.kernel_call, call, tensors.data.dtype, tensors.data.item_size,
             PyArray_DATA(prepared.indices.array()), type, !prepared.how.reads_strides);
    return Outcome::done;
}

Outcome check_call(const Call& call, PyObject*& result) {
    IndexType type;
    MoveTensors tensors;
    PreparedCall prepared(call);
    const Outcome checked = check(prepared, tensors, type);
    if (checked == Outcome::done) result = Py_NewRef(Py_None);
    return checked;
}

Outcome describe_call(const Call& call, PyObject*& facts) {
    const ScopedThreadLimit threads(call.threads);
    PreparedCall prepared(call);
    if (const Outcome ready = prepare(prepared); ready != Outcome::done) return ready;
    const Arrangement& how = prepared.how;
    const KernelCall& kernel_call = prepared.kernel_call;
    const Route& route = kernel_call.route;
    const std::byte* const out = how.writes_out ? bytes(array(call.out)) : nullptr;  // a new result is aligned
    const bool divided = route.ordered || route.split != Split::serial;
    Facts all;
    all.add("plan", facts_of(kernel_call.plan).take());
    all.add("split", name(route.ordered ? Split::ordered : route.split));
    all.add("threads", divided ? route.threads : 1);
    add_processor(all);
    all.add("prefetch", route.prefetch);
    all.add("stream", is_scatter(call.kernel) ? streams_data(prepared) : route.streams_to(out));
    all.add("stream_rows", route.streams_rows_to(out, kernel_call.plan.rows.width * kernel_call.combine.item_size));
    all.add("tile", route.tile);
    all.add("kernel_bytes", route.scratch);
    all.add("copied_bytes", prepared.copied_bytes);
    all.add("reads_strides", how.reads_strides);
    all.add("copies_data", how.copies_data);
    all.add("copies_indices", how.copies_indices);
    all.add("copies_updates", how.copies_updates);
    all.add("made_apart", how.made_apart);
    all.add("checked_first", how.writes_out);
    facts = all.take().release();
    return facts ? Outcome::done : Outcome::failed;
}

}  // namespace gs
