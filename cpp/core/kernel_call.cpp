#include "kernel_call.hpp"

namespace gs {

void complete(KernelCall& call, const Operation& operation, DType dtype, int64_t item_size, const void* indices,
              IndexType index_type, bool contiguous_data) {
    const Plan& plan = call.plan;
    call.kernel = operation.kernel;
    call.combine = {dtype, item_size, operation.reduction, operation.include_self, operation.accumulate};
    const bool scatter = is_scatter(call.kernel);
    if (plan.form == Form::rows) {
        if (contiguous_data) lay_out(plan.rows, item_size, call.layout);
        call.index.emplace(indices, index_type, plan.rows.dims, call.layout.weights, operation.rule);
        call.route = scatter ? route_scatter(plan.rows, call.combine, *call.index)
                             : route_gather(plan.rows, item_size, *call.index);
    } else {
        const Shape lane{plan.lanes.size};  // a single column needs no weights
        call.index.emplace(indices, index_type, lane, lane, operation.rule);
        call.route =
            scatter ? route_scatter(plan.lanes, call.combine, *call.index) : route_gather(plan.lanes, item_size);
    }
}

bool check_indices(KernelCall& call) {
    return call.route.ordered ? find_spans(*call.index, call.tuples(), call.spans) : call.index->check(call.tuples());
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
