// The function that ONNX Runtime calls when a library of operators is registered.
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel.hpp"
#include "shapes.hpp"

namespace gs::ort {
namespace {

// An operator for one type of data and of its output. ONNX Runtime combines the operators with the same name into one.
// Declaring data of any type would not work: the output would get the type of the last input, and versions before 1.22
// would refuse the operator.
struct TypedOperator : CustomOp {
    Host host;
    const Operator& op;
    ElementType type, output_type;

    TypedOperator(const Host&, const Operator&, ElementType, ElementType output, int minor);

    ElementType input_type(size_t i) const {
        return i == 0 ? type : op.inputs[i].kind == InputKind::scales ? output_type : undefined;
    }
};

const TypedOperator& typed(const CustomOp* op) { return *static_cast<const TypedOperator*>(op); }

Status* make_kernel(const CustomOp* op, const Api*, const KernelInfo* info, void** kernel) {
    *kernel = nullptr;
    return typed(op).host.guard([&] { *kernel = new Kernel(typed(op).host, typed(op).op, info); });
}

Status* infer(const CustomOp* op, ShapeContext* context) {
    const TypedOperator& self = typed(op);
    Status* const status = self.host.guard([&] { infer_shape(self.host, self.op, context); });
    (void)self.host.succeeds(status);  // a missing shape is harmless
    return nullptr;
}

// A scatter can write to its data if no other node needs the data.
size_t list_in_place(int** inputs, int** outputs) {
    static int first[] = {0};
    *inputs = *outputs = first;
    return 1;
}

TypedOperator::TypedOperator(const Host& api, const Operator& facts, ElementType data, ElementType output, int minor)
    : CustomOp{}, host(api), op(facts), type(data), output_type(output) {
    version = api_version;
    GetName = [](const CustomOp* self) { return typed(self).op.name; };
    GetExecutionProviderType = [](const CustomOp*) -> const char* { return nullptr; };
    GetInputType = [](const CustomOp* self, size_t i) { return typed(self).input_type(i); };
    GetInputTypeCount = [](const CustomOp* self) { return typed(self).op.inputs.size(); };
    GetOutputType = [](const CustomOp* self, size_t) { return typed(self).output_type; };
    GetOutputTypeCount = [](const CustomOp*) -> size_t { return 1; };
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    GetInputCharacteristic = [](const CustomOp* self, size_t i) {
        return typed(self).op.inputs[i].is_optional ? optional : required;
    };
    GetOutputCharacteristic = [](const CustomOp*, size_t) { return required; };
    GetInputMemoryType = [](const CustomOp*, size_t) { return 0; };
    GetVariadicInputMinArity = GetVariadicOutputMinArity = [](const CustomOp*) { return 0; };
    GetVariadicInputHomogeneity = GetVariadicOutputHomogeneity = [](const CustomOp*) { return 0; };
    CreateKernelV2 = make_kernel;
    KernelComputeV2 = [](void* kernel, KernelContext* context) {
        return static_cast<Kernel*>(kernel)->compute(context);
    };
    // ONNX Runtime before 1.24 crashes when it describes inputs if one of them is absent.
    if (!op.has_optional_inputs() || minor >= 24) InferOutputShapeFn = infer;
    GetStartVersion = [](const CustomOp*) { return 1; };
    GetEndVersion = [](const CustomOp*) { return INT32_MAX; };
    if (op.is_scatter()) GetMayInplace = list_in_place;
    ReleaseMayInplace = [](int*, int*) {};
    GetAliasMap = [](int**, int**) -> size_t { return 0; };
    ReleaseAliasMap = [](int*, int*) {};
}

// The domain with all operators.
struct Library {
    const Api* api;
    std::vector<std::unique_ptr<TypedOperator>> operators;
    Domain* domain = nullptr;

    Library(const Api* functions, int minor) : api(functions) {
        const Host host(*api);
        host.check(api->CreateCustomOpDomain("gatherscatter", &domain));
        const auto add = [&](const Operator& op, ElementType data, ElementType output) {
            operators.push_back(std::make_unique<TypedOperator>(host, op, data, output, minor));
            host.check(api->CustomOpDomain_Add(domain, operators.back().get()));
        };
        for (const Operator& op : ort::operators())
            for (const ElementInfo& type : element_types) {
                const bool has_type = type.first_minor > 0 && type.first_minor <= minor;
                if (!has_type || !(op.own.element_types & type.bit())) continue;
                if (op.is_quantized())
                    for (const ElementType scales : {float32, float16, bfloat16}) add(op, type.type, scales);
                else
                    add(op, type.type, type.type);
            }
    }
};

// The library for one ONNX Runtime. A process can have several. A library is never freed, because a session in a static
// variable of the program can outlive the static variables here.
const Library& find_library(const Api* api, int minor) {
    static std::mutex mutex;
    static auto& libraries = *new std::vector<std::unique_ptr<Library>>;
    const std::lock_guard lock(mutex);
    for (const auto& library : libraries)
        if (library->api == api) return *library;
    libraries.push_back(std::make_unique<Library>(api, minor));
    return *libraries.back();
}

// Returns 22 for "1.22.0".
int read_minor(const char* version) {
    int major = 0, minor = 0;
    const char* const end = version + std::strlen(version);
    const char* const dot = std::from_chars(version, end, major).ptr;
    if (dot != end) std::from_chars(dot + 1, end, minor);
    return major == 1 ? minor : major > 1 ? INT32_MAX : 0;
}

}  // namespace
}  // namespace gs::ort

extern "C" GATHERSCATTER_FUNCTION gs::ort::Status* RegisterCustomOps(gs::ort::SessionOptions* options,
                                                                     const gs::ort::ApiBase* base) {
    using namespace gs::ort;
    const char* const version = base->GetVersionString();
    const int minor = read_minor(version);
    if (minor < static_cast<int>(api_version)) {
        const Api* const old = base->GetApi(1);
        const auto needed =
            "gatherscatter needs ONNX Runtime 1." + std::to_string(api_version) + " or newer, not " + version;
        return old ? old->CreateStatus(fail, needed.c_str()) : nullptr;
    }
    const Api* const api = base->GetApi(api_version);
    const Host host(*api);
    return host.guard([&] {
        // A session refuses options that contain the domain twice. A copy of options has the entries but no domains. So
        // the mark records the object that it was made for.
        const auto mark = "gatherscatter.registered." + std::to_string(reinterpret_cast<std::uintptr_t>(options));
        int is_registered = 0;
        host.check(api->HasSessionConfigEntry(options, mark.c_str(), &is_registered));
        if (is_registered) return;
        host.check(api->AddCustomOpDomain(options, find_library(api, minor).domain));
        host.check(api->AddSessionConfigEntry(options, mark.c_str(), "1"));
    });
}
