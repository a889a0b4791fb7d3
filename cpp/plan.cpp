#include "plan.hpp"

#include <algorithm>
#include <limits>

namespace gs {
namespace {

// The product of some dims; -1 when it overflows.
int64_t product(const int64_t* dims, int n) {
    int64_t total = 1;
    bool overflow = false;
    for (int i = 0; i < n; ++i) {
        if (dims[i] == 0) return 0;
        overflow |= total > std::numeric_limits<int64_t>::max() / dims[i];
        total = overflow ? 1 : total * dims[i];
    }
    return overflow ? -1 : total;
}

bool overflows(const Rows& rows) {
    const int64_t parts[] = {rows.batch, rows.outer, rows.count, rows.width, rows.data_rows};
    if (std::ranges::any_of(parts, [](int64_t n) { return n < 0; })) return true;
    const int64_t data[] = {rows.batch, rows.outer, rows.data_rows, rows.width};
    const int64_t index[] = {rows.batch, rows.count, std::max(rows.dims.rank, 1)};
    return product(parts, 4) < 0 || product(data, 4) < 0 || product(index, 3) < 0;
}

Fault finish(Plan& plan) {
    plan.form = Form::rows;
    return overflows(plan.rows) ? Fault::too_large : Fault::none;
}

bool normalise(int64_t& axis, int64_t rank) {
    if (axis < -rank || axis >= rank) return false;
    axis += axis < 0 ? rank : 0;
    return true;
}

// Adds a dim to one side of the axis, merged into the one before it where one stride can walk both.
void add_dim(Shape& sizes, Shape& strides, int64_t box, int64_t data, int64_t stride) {
    if (box == 1) return;  // contributes no steps
    const int last = sizes.rank - 1;
    if (last >= 0 && box == data && strides[last] == data * stride) {
        sizes.dim[last] *= box;
        strides.dim[last] = stride;
    } else {
        sizes.push(box);
        strides.push(stride);
    }
}

}  // namespace

const char* name(Fault fault) {
    switch (fault) {
        case Fault::none: return "none";
        case Fault::data_rank: return "data_rank";
        case Fault::indices_rank: return "indices_rank";
        case Fault::same_rank: return "same_rank";
        case Fault::axis: return "axis";
        case Fault::batch_dims: return "batch_dims";
        case Fault::batch_axis: return "batch_axis";
        case Fault::batch_shape: return "batch_shape";
        case Fault::tuple_length: return "tuple_length";
        case Fault::indices_shape: return "indices_shape";
        case Fault::output_rank: return "output_rank";
        case Fault::too_large: return "too_large";
    }
    return "unknown";
}

Fault plan_axis(const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan& plan) {
    if (data.rank < 1) return Fault::data_rank;
    if (!normalise(axis, data.rank)) return Fault::axis;
    const int64_t b = batch_dims + (batch_dims < 0 ? indices.rank : 0);  // counted in indices alone (ruling V2)
    if (b < 0 || b > std::min(data.rank, indices.rank)) return Fault::batch_dims;
    if (b > axis) return Fault::batch_axis;
    if (!std::equal(data.dim, data.dim + b, indices.dim)) return Fault::batch_shape;
    if (data.rank - 1 + indices.rank - b > max_rank) return Fault::output_rank;

    const int batch = static_cast<int>(b), before = static_cast<int>(axis), after = data.rank - before - 1;
    plan.slots.append(data.dim, before);
    plan.slots.append(indices.dim + batch, indices.rank - batch);
    plan.slots.append(data.dim + before + 1, after);
    plan.rows.batch = product(data.dim, batch);
    plan.rows.outer = product(data.dim + batch, before - batch);
    plan.rows.count = product(indices.dim + batch, indices.rank - batch);
    plan.rows.width = product(data.dim + before + 1, after);
    plan.rows.dims.push(data[before]);
    plan.rows.data_rows = data[before];
    return finish(plan);
}

Fault plan_nd(const Shape& data, const Shape& indices, int64_t batch_dims, Plan& plan) {
    if (data.rank < 1) return Fault::data_rank;
    if (indices.rank < 1) return Fault::indices_rank;
    if (batch_dims < 0 || batch_dims >= std::min(data.rank, indices.rank)) return Fault::batch_dims;
    if (!std::equal(data.dim, data.dim + batch_dims, indices.dim)) return Fault::batch_shape;
    const int batch = static_cast<int>(batch_dims), tuples = indices.rank - 1;
    if (indices[tuples] > data.rank - batch) return Fault::tuple_length;
    const int k = static_cast<int>(indices[tuples]), after = data.rank - batch - k;
    if (tuples + after > max_rank) return Fault::output_rank;

    plan.slots.append(indices.dim, tuples);
    plan.slots.append(data.dim + batch + k, after);
    plan.rows.batch = product(data.dim, batch);
    plan.rows.outer = 1;
    plan.rows.count = product(indices.dim + batch, tuples - batch);
    plan.rows.width = product(data.dim + batch + k, after);
    plan.rows.dims.append(data.dim + batch, k);
    plan.rows.data_rows = product(data.dim + batch, k);
    return finish(plan);
}

Fault plan_elements(const Shape& data, const Shape& indices, int64_t axis, Plan& plan) {
    if (data.rank < 1) return Fault::data_rank;
    if (indices.rank != data.rank) return Fault::same_rank;
    if (!normalise(axis, data.rank)) return Fault::axis;
    for (int d = 0; d < data.rank; ++d)
        if (d != axis && indices[d] > data[d]) return Fault::indices_shape;

    Lanes& lanes = plan.lanes;
    lanes.elements = product(indices.dim, indices.rank);
    lanes.data_elements = product(data.dim, data.rank);
    if (lanes.elements < 0 || lanes.data_elements < 0) return Fault::too_large;
    plan.form = Form::lanes;
    plan.slots = indices;
    int64_t stride[max_rank];
    for (int64_t step = 1, d = data.rank - 1; d >= 0; --d) {
        stride[d] = step;
        step *= std::max<int64_t>(data[static_cast<int>(d)], 1);  // with an empty dim no stride is ever used
    }
    for (int d = 0; d < axis; ++d) add_dim(lanes.before, lanes.before_stride, indices[d], data[d], stride[d]);
    for (int d = static_cast<int>(axis) + 1; d < data.rank; ++d)
        add_dim(lanes.after, lanes.after_stride, indices[d], data[d], stride[d]);
    lanes.count = indices[static_cast<int>(axis)];
    lanes.size = data[static_cast<int>(axis)];
    lanes.stride = stride[axis];
    return Fault::none;
}

}  // namespace gs
