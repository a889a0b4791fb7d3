#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "call.hpp"
#include "numpy_arrays.hpp"
#include "output_pool.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

nb::tuple tuple_of(const gs::Shape& shape) {
    nb::list dims;
    for (int64_t n : shape) dims.append(n);
    return nb::tuple(dims);
}

gs::Shape shape_of(const std::vector<int64_t>& dims) {
    if (dims.size() > gs::max_rank) throw nb::value_error("more dimensions than NumPy has");
    if (std::ranges::any_of(dims, [](int64_t n) { return n < 0; })) throw nb::value_error("a negative dimension");
    return {dims.data(), static_cast<int>(dims.size())};
}

// The facts of a plan as a dict: what repr, equality and the tests see.
nb::dict facts(const gs::Plan& plan) {
    nb::dict dict;
    dict["form"] = plan.form == gs::Form::rows ? "rows" : "lanes";
    if (plan.form == gs::Form::rows) {
        dict["batch"] = plan.rows.batch;
        dict["outer"] = plan.rows.outer;
        dict["count"] = plan.rows.count;
        dict["width"] = plan.rows.width;
        dict["dims"] = tuple_of(plan.rows.dims);
    } else {
        dict["before"] = tuple_of(plan.lanes.before);
        dict["before_stride"] = tuple_of(plan.lanes.before_stride);
        dict["count"] = plan.lanes.count;
        dict["size"] = plan.lanes.size;
        dict["stride"] = plan.lanes.stride;
        dict["after"] = tuple_of(plan.lanes.after);
        dict["after_stride"] = tuple_of(plan.lanes.after_stride);
    }
    dict["slots"] = tuple_of(plan.slots);
    return dict;
}

nb::dict plan(const std::string& kernel, const std::vector<int64_t>& data, const std::vector<int64_t>& indices,
              int64_t axis, int64_t batch_dims) {
    for (int i = 0; i < gs::kernel_count; ++i) {
        if (kernel != gs::name(static_cast<gs::Kernel>(i))) continue;
        gs::Plan made;
        const gs::Fault fault =
            gs::make_plan(static_cast<gs::Kernel>(i), shape_of(data), shape_of(indices), axis, batch_dims, made);
        if (fault != gs::Fault::none) throw nb::value_error(gs::name(fault));
        return facts(made);
    }
    throw nb::value_error("no such kernel");
}

}  // namespace

// By this name threadpoolctl knows the library.
extern "C" NB_EXPORT int gatherscatter_num_threads() { return gs::num_threads(); }

NB_MODULE(_core, m) {
    m.doc() = "The compiled core: plans, kernels and the array functions.";
    if (!gs::import_numpy()) throw nb::python_error();
    m.def("plan", plan, "kernel"_a, "data_shape"_a, "indices_shape"_a, "axis"_a = 0, "batch_dims"_a = 0,
          "The facts of a plan; ValueError names the fault when there is none.");
    m.def("num_threads", gs::num_threads, "How many threads a large call uses.");
    m.def(
        "set_num_threads",
        [](int n) {
            if (n < 1) throw nb::value_error("the number of threads must be at least 1");
            gs::set_num_threads(n);
        },
        "n"_a, "Sets how many threads a large call uses.");
    m.def("pool_limit", gs::pool_limit, "How many bytes of former results are kept for new ones.");
    m.def("pool_size", gs::pool_size, "How many bytes of former results are kept at present.");
    m.def(
        "set_pool_limit",
        [](int64_t bytes) {
            if (bytes < 0) throw nb::value_error("the limit must not be negative");
            gs::set_pool_limit(bytes);
        },
        "bytes"_a, "Sets how many bytes of former results are kept for new ones; 0 gives back all and keeps none.");
    if (PyModule_AddFunctions(m.ptr(), gs::array_functions()) < 0) throw nb::python_error();
}
