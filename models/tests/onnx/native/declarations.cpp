// Compiled by test_native_declarations.py with a real header of ONNX Runtime: our declarations are those of the header.
#include <onnxruntime_c_api.h>

#include <cstddef>
#include <type_traits>

#include "ort_api.hpp"

namespace ours = gs::ort;

// Types of functions, with those of ours instead of the header's: an argument too many or of another size shows.
template <class T>
struct Theirs {
    using type = T;
};
#define PAIR(our, their)       \
    template <>                \
    struct Theirs<ours::our> { \
        using type = their;    \
    };
PAIR(Status, OrtStatus)
PAIR(OrtValue, ::OrtValue)
PAIR(SessionOptions, OrtSessionOptions)
PAIR(Domain, OrtCustomOpDomain)
PAIR(KernelInfo, OrtKernelInfo)
PAIR(KernelContext, OrtKernelContext)
PAIR(ShapeContext, OrtShapeInferContext)
PAIR(TensorInfo, OrtTensorTypeAndShapeInfo)
PAIR(Attribute, OrtOpAttr)
PAIR(CustomOp, OrtCustomOp)
PAIR(Api, OrtApi)
PAIR(ErrorCode, OrtErrorCode)
PAIR(AttributeType, OrtOpAttrType)
PAIR(ElementType, ONNXTensorElementDataType)
PAIR(Characteristic, OrtCustomOpInputOutputCharacteristic)
template <class T>
struct Theirs<const T> {
    using type = const typename Theirs<T>::type;
};
template <class T>
struct Theirs<T*> {
    using type = typename Theirs<T>::type*;
};
template <class R, class... A>
struct Theirs<R (*)(A...)> {
    using type = typename Theirs<R>::type (*)(typename Theirs<A>::type...);
};

// The header has `noexcept` on functions, and names the type of memory.
template <class T>
struct Plain {
    using type = T;
};
template <class R, class... A>
struct Plain<R (*)(A...) noexcept> {
    using type = R (*)(A...);
};

#define SAME_TYPE(table, their_table, function)                                          \
    static_assert(std::is_same_v<typename Theirs<decltype(ours::table::function)>::type, \
                                 typename Plain<decltype(their_table::function)>::type>, \
                  #function)

// Each function has the position that it has in the header.
#define SAME_FUNCTION(function)                                                            \
    static_assert(offsetof(ours::Api, function) == offsetof(OrtApi, function), #function); \
    SAME_TYPE(Api, OrtApi, function)
SAME_FUNCTION(CreateStatus);
SAME_FUNCTION(CreateCustomOpDomain);
SAME_FUNCTION(CustomOpDomain_Add);
SAME_FUNCTION(AddCustomOpDomain);
SAME_FUNCTION(GetTensorMutableData);
SAME_FUNCTION(GetStringTensorDataLength);
SAME_FUNCTION(GetStringTensorContent);
SAME_FUNCTION(CreateTensorTypeAndShapeInfo);
SAME_FUNCTION(SetTensorElementType);
SAME_FUNCTION(SetDimensions);
SAME_FUNCTION(GetTensorElementType);
SAME_FUNCTION(GetDimensionsCount);
SAME_FUNCTION(GetDimensions);
SAME_FUNCTION(GetSymbolicDimensions);
SAME_FUNCTION(GetTensorTypeAndShape);
SAME_FUNCTION(KernelInfoGetAttribute_float);
SAME_FUNCTION(KernelInfoGetAttribute_int64);
SAME_FUNCTION(KernelInfoGetAttribute_string);
SAME_FUNCTION(KernelContext_GetInputCount);
SAME_FUNCTION(KernelContext_GetInput);
SAME_FUNCTION(KernelContext_GetOutput);
SAME_FUNCTION(ReleaseStatus);
SAME_FUNCTION(ReleaseTensorTypeAndShapeInfo);
SAME_FUNCTION(AddSessionConfigEntry);
SAME_FUNCTION(KernelInfoGetAttributeArray_int64);
SAME_FUNCTION(HasSessionConfigEntry);
SAME_FUNCTION(GetResizedStringTensorElementBuffer);
SAME_FUNCTION(ShapeInferContext_GetInputCount);
SAME_FUNCTION(ShapeInferContext_GetInputTypeShape);
SAME_FUNCTION(ShapeInferContext_GetAttribute);
SAME_FUNCTION(ShapeInferContext_SetOutputTypeShape);
SAME_FUNCTION(SetSymbolicDimensions);
SAME_FUNCTION(ReadOpAttr);
SAME_FUNCTION(KernelContext_ParallelFor);

SAME_TYPE(ApiBase, OrtApiBase, GetApi);
SAME_TYPE(ApiBase, OrtApiBase, GetVersionString);
static_assert(offsetof(ours::ApiBase, GetVersionString) == offsetof(OrtApiBase, GetVersionString));

// Newer headers have more fields at the end. ONNX Runtime reads those that `version` says.
static_assert(sizeof(ours::CustomOp) <= sizeof(OrtCustomOp));
static_assert(offsetof(ours::CustomOp, version) == offsetof(OrtCustomOp, version));
#define SAME_FIELD(field)                                                                   \
    static_assert(offsetof(ours::CustomOp, field) == offsetof(OrtCustomOp, field), #field); \
    SAME_TYPE(CustomOp, OrtCustomOp, field)
SAME_FIELD(CreateKernel);
SAME_FIELD(GetName);
SAME_FIELD(GetExecutionProviderType);
SAME_FIELD(GetInputType);
SAME_FIELD(GetInputTypeCount);
SAME_FIELD(GetOutputType);
SAME_FIELD(GetOutputTypeCount);
SAME_FIELD(KernelCompute);
SAME_FIELD(KernelDestroy);
SAME_FIELD(GetInputCharacteristic);
SAME_FIELD(GetOutputCharacteristic);
static_assert(offsetof(ours::CustomOp, GetInputMemoryType) == offsetof(OrtCustomOp, GetInputMemoryType));
SAME_FIELD(GetVariadicInputMinArity);
SAME_FIELD(GetVariadicInputHomogeneity);
SAME_FIELD(GetVariadicOutputMinArity);
SAME_FIELD(GetVariadicOutputHomogeneity);
SAME_FIELD(CreateKernelV2);
SAME_FIELD(KernelComputeV2);
SAME_FIELD(InferOutputShapeFn);
SAME_FIELD(GetStartVersion);
SAME_FIELD(GetEndVersion);
SAME_FIELD(GetMayInplace);
SAME_FIELD(ReleaseMayInplace);
SAME_FIELD(GetAliasMap);
SAME_FIELD(ReleaseAliasMap);

static_assert(ours::fail == int(ORT_FAIL) && ours::invalid_argument == int(ORT_INVALID_ARGUMENT));
static_assert(ours::int_attribute == int(ORT_OP_ATTR_INT));
static_assert(ours::required == int(INPUT_OUTPUT_REQUIRED) && ours::optional == int(INPUT_OUTPUT_OPTIONAL));
static_assert(OrtMemTypeDefault == 0);
static_assert(ours::api_version <= ORT_API_VERSION);

#define SAME_NUMBER(our, their) static_assert(ours::our == int(ONNX_TENSOR_ELEMENT_DATA_TYPE_##their), #our)
SAME_NUMBER(undefined, UNDEFINED);
SAME_NUMBER(float32, FLOAT);
SAME_NUMBER(uint8, UINT8);
SAME_NUMBER(int8, INT8);
SAME_NUMBER(uint16, UINT16);
SAME_NUMBER(int16, INT16);
SAME_NUMBER(int32, INT32);
SAME_NUMBER(int64, INT64);
SAME_NUMBER(string, STRING);
SAME_NUMBER(boolean, BOOL);
SAME_NUMBER(float16, FLOAT16);
SAME_NUMBER(float64, DOUBLE);
SAME_NUMBER(uint32, UINT32);
SAME_NUMBER(uint64, UINT64);
SAME_NUMBER(complex64, COMPLEX64);
SAME_NUMBER(complex128, COMPLEX128);
SAME_NUMBER(bfloat16, BFLOAT16);
SAME_NUMBER(float8_e4m3fn, FLOAT8E4M3FN);
SAME_NUMBER(float8_e4m3fnuz, FLOAT8E4M3FNUZ);
SAME_NUMBER(float8_e5m2, FLOAT8E5M2);
SAME_NUMBER(float8_e5m2fnuz, FLOAT8E5M2FNUZ);
#if ORT_API_VERSION >= 18
SAME_NUMBER(uint4, UINT4);
SAME_NUMBER(int4, INT4);
#endif
#if ORT_API_VERSION >= 24
SAME_NUMBER(float4_e2m1fn, FLOAT4E2M1);
#endif
