#include "kernel_call.hpp"

#include <algorithm>
#include <cstring>

#include "machine.hpp"
#include "parallel.hpp"
#include "row_moves.hpp"
#include "sizes.hpp"

namespace gs {

Fault make_plan(const Operation& operation, const Shape& data, const Shape& indices, int64_t item_size, Plan& plan) {
    const Fault fault = make_plan(operation.kernel, data, indices, operation.axis, operation.batch_dims, plan);
    if (fault != Fault::none) return fault;
    // A scatter copies and counts at most a few times the size of its data.
    const bool scatter = is_scatter(operation.kernel);
    const int64_t elements = scatter ? saturating_multiply(count_elements(data), 64) : count_elements(plan.slots);
    const bool fits = saturating_multiply(elements, std::max<int64_t>(item_size, 1)) < INT64_MAX;
    return fits ? Fault::none : Fault::too_large;
}

void complete(KernelCall& call, const Operation& operation, DType dtype, int64_t item_size, const void* indices,
              IndexType index_type, bool contiguous_data) {
    const Plan& plan = call.plan;
    call.kernel = operation.kernel;
    call.combine = {dtype, item_size, operation.reduction, operation.include_self, operation.accumulate};
    const bool scatter = is_scatter(call.kernel), is_rows = plan.form == Form::rows;
    if (scatter && operation.reduction == Reduction::mean && (!is_rows || plan.rows.width == 1) &&
        can_use_counted_sums(call.combine, is_rows ? call.tuples() * plan.rows.outer : plan.lanes.elements))
        call.combine.accumulate = Accumulate::counted_sums;
    if (is_rows) {
        if (contiguous_data) lay_out(plan.rows, item_size, call.layout);
        call.index.emplace(indices, index_type, plan.rows.dims, call.layout.weights, operation.rule);
        call.route = scatter ? route_scatter(plan.rows, call.combine, *call.index)
                             : route_gather(plan.rows, call.layout, item_size, *call.index);
    } else {
        const Shape lane{plan.lanes.size};  // a single column needs no weights
        call.index.emplace(indices, index_type, lane, lane, operation.rule);
        call.route = scatter ? route_scatter(plan.lanes, call.combine, *call.index)
                             : route_gather(plan.lanes, item_size, *call.index);
    }
}

bool check_indices(KernelCall& call) {
    return call.route.ordered ? find_spans(*call.index, call.tuples(), call.spans) : call.index->check(call.tuples());
}

void copy_data(const std::byte* data, std::byte* out, int64_t size, bool stream) {
    constexpr int64_t page = 4096;
    // Data that fits in the cache of one core is copied by one thread, which then finds it in its cache.
    const int threads = stream || size > cache_bytes ? num_threads() : 1;
    for_parts((size + page - 1) / page, threads, [&](int64_t first, int64_t last) {
        (void)in_pieces(first, last, page, [&](int64_t begin, int64_t end) {
            const int64_t first_byte = begin * page, n = std::min(end * page, size) - first_byte;
            if (stream)
                stream_copy(out + first_byte, data + first_byte, n);
            else
                std::memcpy(out + first_byte, data + first_byte, static_cast<size_t>(n));
        });
        if (stream) end_stream();
    });
}

bool run(const KernelCall& call, const std::byte* source, std::byte* out) {
    const Plan& plan = call.plan;
    const int64_t item_size = call.combine.item_size;
    if (plan.form == Form::rows)
        return is_scatter(call.kernel)
                   ? scatter_rows(plan.rows, *call.index, call.route, call.spans, source, out, call.combine)
                   : gather_rows(plan.rows, call.layout, *call.index, call.route, source, out, item_size);
    return is_scatter(call.kernel) ? scatter_lanes(plan.lanes, *call.index, call.route, source, out, call.combine)
                                   : gather_lanes(plan.lanes, *call.index, call.route, source, out, item_size);
}

}  // namespace gs
