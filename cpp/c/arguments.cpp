#include "arguments.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

namespace gs {
namespace {

constexpr const char* kernel_choices[] = {"gather",           "gather_elements", "gather_nd",     "scatter_update",
                                          "scatter_elements", "scatter_nd",      "gather_reduce", "gather_quantized"};
static_assert(std::size(kernel_choices) == GATHERSCATTER_GATHER_QUANTIZED + 1);
static_assert(std::equal(kernel_names, kernel_names + kernel_count, kernel_choices, std::equal_to<std::string_view>()));

// Converts an enumerator of the interface to one of the core, which has the same number. Returns null, or an error if
// there is no such enumerator.
template <class E, size_t n>
gatherscatter_status* read_choice(const char* op, const char* input, int32_t value, const char* const (&names)[n],
                                  E& choice) {
    choice = static_cast<E>(value);
    if (value >= 0 && value < static_cast<int32_t>(n)) return nullptr;
    std::string choices;
    for (size_t i = 0; i < n; ++i) add_to_list(choices, std::to_string(i).append(" (").append(names[i]).append(")"));
    return make_status("choice", op,
                       {{"raises", "ValueError"}, {"input", input}, {"choices", choices}, {"value", value}});
}

static_assert(GATHERSCATTER_MEAN == static_cast<int>(Reduction::mean));
static_assert(GATHERSCATTER_EXACT == static_cast<int>(Accumulate::exact));
static_assert(GATHERSCATTER_SKIP == static_cast<int>(Mode::skip));
static_assert(GATHERSCATTER_NEGATIVE_SKIP == static_cast<int>(Negative::skip));
static_assert(GATHERSCATTER_COMPLEX128 == static_cast<int>(DType::complex128));
static_assert(GATHERSCATTER_SCATTER_ND == static_cast<int>(Kernel::scatter_nd));

}  // namespace

const char* name_of(const gatherscatter_operation& operation) {
    if (operation.name) return operation.name;
    const bool is_known = operation.kernel >= 0 && operation.kernel <= GATHERSCATTER_GATHER_QUANTIZED;
    return is_known ? kernel_choices[operation.kernel] : "gatherscatter";
}

int64_t size_of(DType dtype) {
    return visit(dtype, int64_t{0}, []<class T>(std::type_identity<T>) { return static_cast<int64_t>(sizeof(T)); });
}

gatherscatter_status* read_tensor(const char* op, const char* input, const gatherscatter_tensor& given,
                                  Tensor& tensor) {
    if (given.rank == -1) return nullptr;
    if (gatherscatter_status* status = read_choice(op, input, given.type, dtype_names, tensor.dtype)) return status;
    if (given.rank < 0 || given.rank > max_rank)
        return make_status("tensor_rank", op, {{"input", input}, {"most", max_rank}, {"rank", given.rank}});
    if (given.rank > 0 && !given.shape) return make_status("null", op, {{"input", input + std::string(".shape")}});
    tensor.present = true;
    tensor.shape = Shape(given.shape, given.rank);
    if (std::ranges::any_of(tensor.shape, [](int64_t n) { return n < 0; }))
        return make_status("negative_size", op, {{"input", input}, {"shape", tensor.shape}});
    tensor.item_size = tensor.dtype == DType::opaque ? given.item_size : size_of(tensor.dtype);
    if (tensor.item_size < 1) return make_status("item_size", op, {{"input", input}, {"value", given.item_size}});
    if (saturating_multiply(count_elements(tensor.shape), tensor.item_size) == INT64_MAX)
        return make_status("tensor_size", op, {{"input", input}, {"shape", tensor.shape}});
    return nullptr;
}

// Refuses options that the reduction ignores. Only sums, products and means accumulate.
gatherscatter_status* check_effects(const char* op, const Operation& operation) {
    const Reduction reduction = operation.reduction;
    if (!operation.include_self && reduction == Reduction::none)
        return make_status("no_effect", op, {{"input", "include_self"}, {"reduction", name(reduction)}});
    const bool accumulates = reduction != Reduction::none && reduction != Reduction::min && reduction != Reduction::max;
    if (operation.accumulate == Accumulate::step || accumulates) return nullptr;
    return make_status("no_effect", op, {{"input", "accumulate"}, {"reduction", name(reduction)}});
}

// Refuses options that a kernel does not have.
gatherscatter_status* check_options(const char* op, int kernel, const gatherscatter_operation& given) {
    const bool bags = kernel == GATHERSCATTER_GATHER_REDUCE, quantized = kernel == GATHERSCATTER_GATHER_QUANTIZED,
               nd = kernel == GATHERSCATTER_GATHER_ND || kernel == GATHERSCATTER_SCATTER_ND;
    const bool batches =
        kernel == GATHERSCATTER_GATHER || kernel == GATHERSCATTER_GATHER_ND || kernel == GATHERSCATTER_SCATTER_UPDATE;
    const bool scatters = !bags && !quantized && is_scatter(static_cast<Kernel>(kernel));
    const struct {
        const char* name;
        bool is_known;
        int64_t value, unused;
    } options[] = {{"axis", !nd && !bags, given.axis, 0},
                   {"batch_dims", batches, given.batch_dims, 0},
                   {"reduction", scatters || bags, given.reduction, GATHERSCATTER_NONE},
                   {"include_self", scatters, given.include_self != 0, 1},
                   {"num_segments", bags, given.num_segments, -1},
                   {"quantize_axis", quantized, given.quantize_axis, -1},
                   {"block_size", quantized, given.block_size, 128},
                   {"bits", quantized, given.bits, 4},
                   {"packed", quantized, given.packed != 0, 1}};
    for (const auto& option : options)
        if (!option.is_known && option.value != option.unused)
            return make_status("unused_option", op, {{"input", option.name}, {"value", option.unused}});
    return nullptr;
}

gatherscatter_status* read_operation(const char* op, const gatherscatter_operation& given, Operation& operation) {
    int kernel = 0;
    gatherscatter_status* status = read_choice(op, "kernel", given.kernel, kernel_choices, kernel);
    if (!status) status = read_choice(op, "mode", given.mode, mode_names, operation.rule.mode);
    if (!status) status = read_choice(op, "negative", given.negative, negative_names, operation.rule.negative);
    if (!status) status = read_choice(op, "reduction", given.reduction, reduction_names, operation.reduction);
    if (!status) status = read_choice(op, "accumulate", given.accumulate, accumulate_names, operation.accumulate);
    if (!status) status = check_options(op, kernel, given);
    // For messages about indices, these two count as a gather.
    const bool gathers = kernel == GATHERSCATTER_GATHER_REDUCE || kernel == GATHERSCATTER_GATHER_QUANTIZED;
    operation.kernel = gathers ? Kernel::gather : static_cast<Kernel>(kernel);
    operation.axis = kernel == GATHERSCATTER_GATHER_REDUCE ? 0 : given.axis;
    operation.batch_dims = given.batch_dims;
    operation.include_self = given.include_self != 0;
    return status ? status : check_effects(op, operation);
}

gatherscatter_status* check_reduction(const char* op, DType dtype, Reduction reduction, Accumulate accumulate) {
    if (!supports(dtype, reduction))
        return make_status("reduction", op, {{"reduction", name(reduction)}, {"type", name(dtype)}});
    if (accumulate == Accumulate::exact && !supports_exact(dtype, reduction))
        return make_status("accumulate", op, {{"reduction", name(reduction)}, {"type", name(dtype)}});
    return nullptr;
}

gatherscatter_status* check_same_type(const char* op, const char* input, const Tensor& tensor, const Tensor& data) {
    if (tensor.dtype == data.dtype && tensor.item_size == data.item_size) return nullptr;
    const auto type_of = [](const Tensor& t) {
        const std::string size = t.dtype == DType::opaque ? " of " + std::to_string(t.item_size) + " bytes" : "";
        return name(t.dtype) + size;
    };
    return make_status("mixed_types", op,
                       {{"input", input}, {"type", type_of(tensor)}, {"first", "data"}, {"first_type", type_of(data)}});
}

gatherscatter_status* check_integers(const char* op, const char* input, const Tensor& tensor, IndexType& type) {
    if (index_type_of(tensor.dtype, type)) return nullptr;
    return make_status("not_integers", op, {{"input", input}, {"type", name(tensor.dtype)}});
}

}  // namespace gs
