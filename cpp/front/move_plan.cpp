#include "move_plan.hpp"

#include <cstdlib>

#include "machine.hpp"
#include "scratch.hpp"

namespace gs {

bool StridedTensor::overlaps(const StridedTensor& contiguous) const {
    if (size == 0 || contiguous.size == 0) return false;
    const std::byte *low = memory, *high = memory + (is_contiguous ? size : item_size);
    for (int d = 0; d < shape.rank && !is_contiguous; ++d) {
        const int64_t reach = strides[d] * (shape[d] - 1);
        (reach < 0 ? low : high) += reach;
    }
    return low < contiguous.memory + contiguous.size && contiguous.memory < high;
}

bool StridedTensor::is_same(const StridedTensor& other) const {
    return memory == other.memory && shape == other.shape && is_contiguous == other.is_contiguous &&
           (is_contiguous || std::equal(strides, strides + shape.rank, other.strides));
}

namespace {

// Whether kernels can write to `out` directly: it is contiguous and does not overlap any input.
bool writes_directly(const Operation& operation, const MoveTensors& tensors, bool in_place) {
    const StridedTensor& out = tensors.out;
    if (!out.is_contiguous || tensors.indices.overlaps(out)) return false;
    if (tensors.updates.present && tensors.updates.overlaps(out)) return false;
    if (in_place) return true;
    // A call with accumulators may run out of memory after data was copied to out.
    const bool accumulates =
        operation.reduction == Reduction::mean || operation.accumulate != Accumulate::step || !operation.include_self;
    return !tensors.data.overlaps(out) && !(is_scatter(operation.kernel) && accumulates);
}

// Graph libraries expand indices over all of data off the axis. Such an index box repeats the same index for a whole
// slice. It is replaced by the line along the axis, and the plan by a plan of rows. A box with one dim is already such
// a line. Short lines of single elements stay: the overhead of each line would be larger than what it saves.
bool takes_line(int along, const StridedTensor& data, StridedTensor& indices, Plan& plan) {
    if (plan.form != Form::lanes || count_elements(indices.shape) == 0) return false;
    for (int d = 0; d < indices.shape.rank; ++d) {
        const bool repeats = indices.shape[d] == 1 || indices.strides[d] == 0;
        if (d != along && !(repeats && indices.shape[d] == data.shape[d])) return false;
    }
    Plan line_plan;
    if (plan_axis(data.shape, Shape(&plan.slots.dim[along], 1), along, 0, line_plan) != Fault::none) return false;
    constexpr int64_t short_line = 16;
    if (line_plan.rows.width == 1 && line_plan.rows.count < short_line && line_plan.rows.outer > 1) return false;
    const int64_t length = indices.shape[along];
    indices.shape = Shape(&length, 1);
    indices.strides += along;
    indices.size = length * indices.item_size;
    indices.is_contiguous = indices.is_aligned && (length == 1 || *indices.strides == indices.item_size);
    plan = line_plan;
    return true;
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
bool plan_strides(int along, const StridedTensor& data, const Shape& indices, KernelCall& call) {
    Plan& plan = call.plan;
    if (!data.is_aligned || data.item_size == 0) return false;
    if (plan.form == Form::rows)
        return lay_out(plan.rows, data.shape, Shape(data.strides, data.shape.rank), data.item_size, call.layout) &&
               !scattered(plan.rows, call.layout);
    Shape strides;
    for (int d = 0; d < data.shape.rank; ++d) {
        const int64_t stride = data.strides[d];
        if (stride < 0 || stride % data.item_size != 0) return false;
        strides.push(stride / data.item_size);
    }
    return !scattered(plan.lanes, strides[data.shape.rank - 1], strides[along] * data.item_size) &&
           plan_elements(data.shape, indices, along, plan, &strides) == Fault::none;
}

// Updates in place. Returns false and writes nothing if an index is bad.
bool run_in_place(KernelCall& call, const Operation& operation, int64_t data_bytes, int64_t index_bytes,
                  const KernelMemory& memory) {
    if (!is_cheaper_apart(operation, data_bytes, index_bytes))
        return check_indices(call) && run(call, memory.updates, memory.out);
    const Scratch apart(data_bytes, false);
    copy_data(memory.out, apart.get(), data_bytes, false);
    if (!run(call, memory.updates, apart.get())) return false;
    copy_data(apart.get(), memory.out, data_bytes, false);
    return true;
}

}  // namespace

const char* plan_move(const Operation& operation, const Tensor& data, const Tensor& indices, const Tensor& updates,
                      const Tensor& out, Plan& plan) {
    const Fault fault = make_plan(operation, data.shape, indices.shape, data.item_size, plan);
    if (fault != Fault::none) return name(fault);
    if (is_scatter(operation.kernel) && !(updates.shape == plan.slots)) return "updates_shape";
    return out.present && !(out.shape == output_shape(operation, data, plan)) ? "out_shape" : nullptr;
}

Arrangement arrange(const Operation& operation, bool casts_updates, MoveTensors& tensors, KernelCall& call) {
    const bool scatter = is_scatter(operation.kernel);
    const StridedTensor &data = tensors.data, &out = tensors.out;
    const int along = static_cast<int>(operation.axis) + (operation.axis < 0 ? data.shape.rank : 0);
    Arrangement how;
    const bool contiguous = data.is_contiguous && tensors.indices.is_contiguous && tensors.updates.is_contiguous;
    if (contiguous && !casts_updates && !out.present && call.plan.form == Form::rows) return how;
    how.takes_line = takes_line(along, data, tensors.indices, call.plan);
    how.reads_strides = !scatter && !data.is_contiguous && plan_strides(along, data, tensors.indices.shape, call);
    how.copies_data = !scatter && !data.is_contiguous && !how.reads_strides;
    how.copies_indices = !tensors.indices.is_contiguous;
    how.copies_updates = scatter && (casts_updates || !tensors.updates.is_contiguous);
    how.in_place = scatter && out.present && out.is_same(data);
    how.made_apart = out.present && (!writes_directly(operation, tensors, how.in_place) ||
                                     is_cheaper_apart(operation, out.size, tensors.indices.size));
    how.writes_out = out.present && !how.made_apart;
    return how;
}

bool run_kernel(const Operation& operation, const Plan& plan, const Tensor& data, const Tensor& indices,
                const KernelMemory& memory) {
    KernelCall call;
    call.plan = plan;
    complete(call, operation, data.dtype, data.item_size, memory.indices, memory.index_type);
    if (!is_scatter(operation.kernel)) return run(call, memory.data, memory.out);
    if (memory.data == memory.out) return run_in_place(call, operation, data.bytes(), indices.bytes(), memory);
    copy_data(memory.data, memory.out, data.bytes(), call.route.stream);
    return run(call, memory.updates, memory.out);
}

}  // namespace gs
