// The parts of DLPack 1 that exchange tensors without Python: https://dmlc.github.io/dlpack. A test compares them with
// the header of PyTorch.
#pragma once

#include <cstdint>

namespace gs::dlpack {

enum DeviceType : int32_t { cpu = 1 };
enum TypeCode : uint8_t { integers, unsigned_integers, floats, opaque, bfloats, complexes, booleans };

struct DataType {
    uint8_t code, bits;
    uint16_t lanes;
};

struct Tensor {
    void* data;
    int32_t device_type, device_id;
    int32_t rank;
    DataType type;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct Version {
    uint32_t major, minor;
};

struct ManagedTensor {
    Version version;
    void* context;
    void (*deleter)(ManagedTensor*);
    uint64_t flags;
    Tensor tensor;
};

// The functions return 0 on success. Otherwise, they set an exception.
struct ExchangeApi {
    Version version;
    ExchangeApi* previous;
    int (*allocate)(Tensor*, ManagedTensor**, void*, void (*)(void*, const char*, const char*));
    int (*managed_from_object)(void* object, ManagedTensor**);
    int (*managed_to_object)(ManagedTensor*, void** object);
    int (*tensor_from_object)(void* object, Tensor*);  // can be null
    int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

}  // namespace gs::dlpack
