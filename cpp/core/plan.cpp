#include "plan.hpp"

#include <algorithm>
#include <numeric>

namespace gs {
namespace {

// Returns the product of some dims, or -1 if it overflows. If a dim is 0, the product is 0.
int64_t product(const int64_t* dims, int n) {
    int64_t total = 1;
    bool fits = true;
    for (int i = 0; i < n; ++i) {
        if (dims[i] == 0) return 0;
        fits = fits && multiply(total, dims[i], total);
    }
    return fits ? total : -1;
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

// Adds a dim to one side of the axis. It is merged with the dim before it if one stride can walk both.
void add_dim(Shape& sizes, Shape& strides, int64_t box, int64_t data, int64_t stride) {
    if (box == 1) return;  // adds no steps
    const int last = sizes.rank - 1;
    if (last >= 0 && box == data && strides[last] == data * stride) {
        sizes.dim[last] *= box;
        strides.dim[last] = stride;
    } else {
        sizes.push(box);
        strides.push(stride);
    }
}

// Finds the stride with which one counter can walk the dims [first, last). False: there is none.
bool even_stride(const Shape& dims, const Shape& strides, int first, int last, int64_t& stride) {
    Shape merged, merged_stride;
    for (int d = first; d < last; ++d) add_dim(merged, merged_stride, dims[d], dims[d], strides[d]);
    stride = merged.rank == 1 ? merged_stride[0] : 0;
    return merged.rank <= 1;
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
    // Negative batch_dims count from the end of the shape of indices (ruling V2).
    const int64_t b = batch_dims + (batch_dims < 0 ? indices.rank : 0);
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
    plan.rows.batch_rank = batch;
    plan.rows.outer_rank = before - batch;
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
    plan.rows.batch_rank = batch;
    plan.rows.outer_rank = 0;
    return finish(plan);
}

Fault plan_elements(const Shape& data, const Shape& indices, int64_t axis, Plan& plan, const Shape* strides) {
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
    for (Shape* shape : {&lanes.before, &lanes.before_stride, &lanes.after, &lanes.after_stride}) shape->rank = 0;
    int64_t stride[max_rank];
    for (int64_t step = 1, d = data.rank - 1; d >= 0; --d) {
        stride[d] = step;
        step = saturating_multiply(
            step, std::max<int64_t>(data[static_cast<int>(d)], 1));  // if a dim is empty, no stride is used
    }
    if (strides) std::copy(strides->begin(), strides->end(), stride);
    for (int d = 0; d < axis; ++d) add_dim(lanes.before, lanes.before_stride, indices[d], data[d], stride[d]);
    for (int d = static_cast<int>(axis) + 1; d < data.rank; ++d)
        add_dim(lanes.after, lanes.after_stride, indices[d], data[d], stride[d]);
    lanes.count = indices[static_cast<int>(axis)];
    lanes.size = data[static_cast<int>(axis)];
    lanes.stride = stride[axis];
    return Fault::none;
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

void lay_out(const Rows& rows, int64_t item_size, Layout& layout) {
    layout.piece_size = layout.row_stride = rows.width * item_size;
    layout.outer_stride = rows.data_rows * layout.row_stride;
    layout.batch_stride = rows.outer * layout.outer_stride;
    layout.pieces.rank = layout.piece_stride.rank = 0;
    layout.weights.rank = rows.dims.rank;
    uint64_t weight = 1;  // can wrap if a dim is empty; then no tuple is valid
    for (int j = rows.dims.rank - 1; j >= 0; --j) {
        layout.weights.dim[j] = static_cast<int64_t>(weight);
        weight *= static_cast<uint64_t>(rows.dims[j]);
    }
}

bool lay_out(const Rows& rows, const Shape& data, const Shape& strides, int64_t item_size, Layout& layout) {
    const int first = rows.batch_rank + rows.outer_rank, last = first + rows.dims.rank;
    // The stride of a dim of size 1 is ignored, because it is never used.
    const auto stride = [&](int d) { return data[d] > 1 ? strides[d] : 0; };
    int forwards = 0, backwards = 0;
    for (int d = first; d < last; ++d) (stride(d) < 0 ? backwards : forwards) += stride(d) != 0;
    if (forwards && backwards) return false;  // row numbers cannot be negative
    if (!even_stride(data, strides, 0, rows.batch_rank, layout.batch_stride)) return false;
    if (!even_stride(data, strides, rows.batch_rank, first, layout.outer_stride)) return false;
    layout.row_stride = 0;
    for (int d = first; d < last; ++d) layout.row_stride = std::gcd(layout.row_stride, stride(d));
    layout.weights.rank = 0;
    if (backwards) layout.row_stride = -layout.row_stride;
    for (int d = first; d < last; ++d) layout.weights.push(layout.row_stride ? stride(d) / layout.row_stride : 0);
    layout.pieces.rank = layout.piece_stride.rank = 0;
    for (int d = last; d < data.rank; ++d) add_dim(layout.pieces, layout.piece_stride, data[d], data[d], strides[d]);
    layout.piece_size = item_size;
    const int inner = layout.pieces.rank - 1;
    if (inner >= 0 && layout.piece_stride[inner] == item_size) {
        layout.piece_size *= layout.pieces[inner];
        layout.pieces.rank = layout.piece_stride.rank = inner;
    }
    return true;
}

}  // namespace gs
