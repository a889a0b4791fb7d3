// The parts of ONNX Runtime's C interface that this library uses, under their original names. Its headers are not
// needed, because the interface is a table of functions that only grows at its end. A test compares these declarations
// with a real header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::ort {

// The first version of the interface that has all of these parts. It came with ONNX Runtime 1.17.
inline constexpr uint32_t api_version = 17;

struct Status;
struct OrtValue;
struct SessionOptions;
struct Domain;
struct KernelInfo;
struct KernelContext;
struct ShapeContext;
struct TensorInfo;
struct Attribute;
struct CustomOp;

enum ErrorCode : int { fail = 1, invalid_argument = 2 };

enum AttributeType : int { int_attribute = 1 };

enum ElementType : int {
    undefined = 0,
    float32 = 1,
    uint8 = 2,
    int8 = 3,
    uint16 = 4,
    int16 = 5,
    int32 = 6,
    int64 = 7,
    string = 8,
    boolean = 9,
    float16 = 10,
    float64 = 11,
    uint32 = 12,
    uint64 = 13,
    complex64 = 14,
    complex128 = 15,
    bfloat16 = 16,
    float8_e4m3fn = 17,
    float8_e4m3fnuz = 18,
    float8_e5m2 = 19,
    float8_e5m2fnuz = 20,
    uint4 = 21,  // uint4 and float4 are packed: two elements in a byte
    int4 = 22,
    float4_e2m1fn = 23,
};

// Functions that return a status return null on success.
struct Api {
    Status* (*CreateStatus)(ErrorCode, const char* message);
    void* slots_1_to_25[25];
    Status* (*CreateCustomOpDomain)(const char* name, Domain** out);
    Status* (*CustomOpDomain_Add)(Domain*, const CustomOp*);
    Status* (*AddCustomOpDomain)(SessionOptions*, Domain*);
    void* slots_29_to_50[22];
    Status* (*GetTensorMutableData)(OrtValue*, void** out);
    void* slots_52_to_52[1];
    Status* (*GetStringTensorDataLength)(const OrtValue*, size_t* bytes);
    Status* (*GetStringTensorContent)(const OrtValue*, void* text, size_t bytes, size_t* starts, size_t count);
    void* slots_55_to_56[2];
    Status* (*CreateTensorTypeAndShapeInfo)(TensorInfo** out);
    Status* (*SetTensorElementType)(TensorInfo*, ElementType);
    Status* (*SetDimensions)(TensorInfo*, const int64_t* dims, size_t rank);
    Status* (*GetTensorElementType)(const TensorInfo*, ElementType* out);
    Status* (*GetDimensionsCount)(const TensorInfo*, size_t* rank);
    Status* (*GetDimensions)(const TensorInfo*, int64_t* dims, size_t rank);
    Status* (*GetSymbolicDimensions)(const TensorInfo*, const char** names, size_t rank);
    void* slots_64_to_64[1];
    Status* (*GetTensorTypeAndShape)(const OrtValue*, TensorInfo** out);
    void* slots_66_to_84[19];
    Status* (*KernelInfoGetAttribute_float)(const KernelInfo*, const char* name, float* out);
    Status* (*KernelInfoGetAttribute_int64)(const KernelInfo*, const char* name, int64_t* out);
    Status* (*KernelInfoGetAttribute_string)(const KernelInfo*, const char* name, char* out, size_t* size);
    Status* (*KernelContext_GetInputCount)(const KernelContext*, size_t* out);
    void* slots_89_to_89[1];
    Status* (*KernelContext_GetInput)(const KernelContext*, size_t index, const OrtValue** out);
    Status* (*KernelContext_GetOutput)(KernelContext*, size_t index, const int64_t* dims, size_t rank, OrtValue** out);
    void* slots_92_to_92[1];
    void (*ReleaseStatus)(Status*);
    void* slots_94_to_98[5];
    void (*ReleaseTensorTypeAndShapeInfo)(TensorInfo*);
    void* slots_100_to_129[30];
    Status* (*AddSessionConfigEntry)(SessionOptions*, const char* key, const char* value);
    void* slots_131_to_162[32];
    Status* (*KernelInfoGetAttributeArray_int64)(const KernelInfo*, const char* name, int64_t* out, size_t* size);
    void* slots_164_to_236[73];
    Status* (*HasSessionConfigEntry)(const SessionOptions*, const char* key, int* out);
    void* slots_238_to_251[14];
    Status* (*GetResizedStringTensorElementBuffer)(OrtValue*, size_t index, size_t bytes, char** out);
    void* slots_253_to_266[14];
    Status* (*ShapeInferContext_GetInputCount)(const ShapeContext*, size_t* out);
    Status* (*ShapeInferContext_GetInputTypeShape)(const ShapeContext*, size_t index, TensorInfo** out);
    Status* (*ShapeInferContext_GetAttribute)(const ShapeContext*, const char* name, const Attribute** out);
    Status* (*ShapeInferContext_SetOutputTypeShape)(const ShapeContext*, size_t index, const TensorInfo*);
    Status* (*SetSymbolicDimensions)(TensorInfo*, const char** names, size_t rank);
    Status* (*ReadOpAttr)(const Attribute*, AttributeType, void* data, size_t bytes, size_t* out);
    void* slots_273_to_273[1];
    Status* (*KernelContext_ParallelFor)(const KernelContext*, void (*task)(void* data, size_t i), size_t n,
                                         size_t batches, void* data);
};

struct ApiBase {
    const Api* (*GetApi)(uint32_t version);  // null: the version is too new
    const char* (*GetVersionString)();
};

enum Characteristic : int { required = 0, optional = 1 };

// The table of functions through which ONNX Runtime calls an operator.
struct CustomOp {
    uint32_t version;  // the version of the interface
    void* (*CreateKernel)(const CustomOp*, const Api*, const KernelInfo*);
    const char* (*GetName)(const CustomOp*);
    const char* (*GetExecutionProviderType)(const CustomOp*);  // null: CPU
    ElementType (*GetInputType)(const CustomOp*, size_t index);
    size_t (*GetInputTypeCount)(const CustomOp*);
    ElementType (*GetOutputType)(const CustomOp*, size_t index);
    size_t (*GetOutputTypeCount)(const CustomOp*);
    void (*KernelCompute)(void* kernel, KernelContext*);
    void (*KernelDestroy)(void* kernel);
    Characteristic (*GetInputCharacteristic)(const CustomOp*, size_t index);
    Characteristic (*GetOutputCharacteristic)(const CustomOp*, size_t index);
    int (*GetInputMemoryType)(const CustomOp*, size_t index);
    int (*GetVariadicInputMinArity)(const CustomOp*);
    int (*GetVariadicInputHomogeneity)(const CustomOp*);
    int (*GetVariadicOutputMinArity)(const CustomOp*);
    int (*GetVariadicOutputHomogeneity)(const CustomOp*);
    Status* (*CreateKernelV2)(const CustomOp*, const Api*, const KernelInfo*, void** kernel);
    Status* (*KernelComputeV2)(void* kernel, KernelContext*);
    Status* (*InferOutputShapeFn)(const CustomOp*, ShapeContext*);
    int (*GetStartVersion)(const CustomOp*);
    int (*GetEndVersion)(const CustomOp*);
    // Pairs of an input and an output that can share memory.
    size_t (*GetMayInplace)(int** inputs, int** outputs);
    void (*ReleaseMayInplace)(int* inputs, int* outputs);
    size_t (*GetAliasMap)(int** inputs, int** outputs);
    void (*ReleaseAliasMap)(int* inputs, int* outputs);
};

}  // namespace gs::ort
