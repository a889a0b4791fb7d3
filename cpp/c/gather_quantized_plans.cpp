// Plans of gathers from quantized tables.
#include <iterator>

#include "faults.hpp"
#include "plans.hpp"

namespace gs {
namespace {

constexpr int32_t first_codes = GATHERSCATTER_INT4;
constexpr auto last_codes = static_cast<int32_t>(first_codes + std::size(code_types) - 1);
static_assert(last_codes == GATHERSCATTER_FLOAT4_E2M1FN);

bool is_code_type(int32_t type) { return type >= first_codes && type <= last_codes; }

// Returns the name of an element type that has been read.
const char* type_name(int32_t type) {
    return is_code_type(type) ? code_types[type - first_codes].name : dtype_names[type];
}

// Finds how a type stores codes. Returns null, or an error.
gatherscatter_status* read_codes(const char* op, int32_t type, const gatherscatter_operation& given,
                                 QuantizedOperation& operation) {
    CodeType& codes = operation.codes;
    if (type == GATHERSCATTER_UINT8) {
        const std::optional<CodeType> bytes = codes_in_bytes(given.bits);
        if (!bytes) return make_status("bits", op, {{"value", given.bits}});
        codes = *bytes;
        operation.counts_bytes = true;
    } else if (type == GATHERSCATTER_INT8) {
        codes = {CodeFormat::signed_integer};
    } else {
        codes = code_types[type - first_codes].type;
        if (given.packed) codes.per_byte = 8 / codes.bits;
    }
    return nullptr;
}

// Returns null, or an error if an input has a wrong type. `zero_type` is that of the zero points, or that of data.
gatherscatter_status* check_types(gatherscatter_plan& plan, int32_t type, int32_t zero_type) {
    const char* const op = plan.name.c_str();
    if (type != GATHERSCATTER_UINT8 && type != GATHERSCATTER_INT8 && !is_code_type(type)) {
        std::string types = "uint8, int8";
        for (const NamedCodes& known : code_types) add_to_list(types, known.name);
        return make_status("codes_type", op, {{"types", types}, {"type", type_name(type)}});
    }
    const DType scale_type = plan.inputs[2u].dtype;
    if (!is_scale_type(scale_type))
        return make_status("scales_type", op, {{"types", "float32, float16, bfloat16"}, {"type", name(scale_type)}});
    if (zero_type != type)
        return make_status("zero_points_type", op, {{"data_type", type_name(type)}, {"type", type_name(zero_type)}});
    return check_integers(op, "indices", plan.inputs[1u], plan.index_type);
}

}  // namespace

gatherscatter_tensor as_bytes(gatherscatter_tensor tensor) {
    if (!is_code_type(tensor.type)) return tensor;
    tensor.type = GATHERSCATTER_OPAQUE;
    tensor.item_size = 1;
    return tensor;
}

gatherscatter_status* plan_gather_quantized(gatherscatter_plan& plan, const gatherscatter_operation& given,
                                            const gatherscatter_tensor* inputs) {
    const char* const op = plan.name.c_str();
    const int32_t type = inputs[0].type, zero_type = plan.inputs[3u].present ? inputs[3].type : type;
    if (gatherscatter_status* status = check_types(plan, type, zero_type)) return status;
    QuantizedOperation operation;
    if (gatherscatter_status* status = read_codes(op, type, given, operation)) return status;
    operation.axis = given.axis;
    operation.quantize_axis = given.quantize_axis;
    operation.block_size = given.block_size;
    const QuantizedTensors tensors{plan.inputs[0u], plan.inputs[1u], plan.inputs[2u], plan.inputs[3u]};
    if (const Problem problem = plan_quantized(tensors, operation, plan.quantized))
        return problem_fault(op, problem, tensors.scales.dtype);
    plan.output = plan.quantized.output;
    return nullptr;
}

gatherscatter_status* run_gather_quantized(const gatherscatter_plan& plan, const void* const* inputs, std::byte* out) {
    const QuantizedPlan& quantized = plan.quantized;
    const auto address = [&](size_t i) {  // the host may have given fewer addresses than there are inputs
        return plan.inputs[i].present ? static_cast<const std::byte*>(inputs[i]) : nullptr;
    };
    const Index index(inputs[1], plan.index_type, Shape{quantized.rows()}, Shape{1}, plan.operation.rule);
    if (gather_quantized(quantized.table, {address(0), address(2), address(3)}, index, quantized.count, out))
        return nullptr;
    return index_fault(plan.name.c_str(), plan.operation, quantized.numbers, plan.inputs[1u].shape, inputs[1],
                       plan.index_type);
}

}  // namespace gs
