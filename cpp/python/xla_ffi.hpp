// The parts of XLA's C interface for foreign functions that the kernels use, version 0.x. The structs begin with their
// size, and later versions only add fields at the end. A test compares the declarations with the header of jaxlib.
// https://github.com/openxla/xla/blob/main/xla/ffi/api/c_api.h
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::xla {

struct Extension {
    size_t struct_size;
    int32_t type;  // metadata_extension is the only one
    Extension* next;
};
inline constexpr int32_t metadata_extension = 1;

struct Version {
    size_t struct_size;
    Extension* extensions;
    int32_t major, minor;
};

struct Metadata {
    size_t struct_size;
    Version version;
    uint32_t traits;
};

struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

struct Error;

enum ErrorCode : int32_t { invalid_argument = 3, resource_exhausted = 8, out_of_range = 11 };

struct ErrorArguments {
    size_t struct_size;
    Extension* extensions;
    const char* message;
    int32_t code;
};

struct Api {
    size_t struct_size;
    Extension* extensions;
    Version version;
    const void* internal;
    Error* (*create_error)(ErrorArguments*);
};

// clang-format off
enum DataType : int32_t {
    pred = 1, s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, c64 = 15, bf16 = 16, c128 = 18, f8e5m2 = 19,
    f8e4m3fn = 20, f8e4m3b11fnuz = 23, f8e5m2fnuz = 24, f8e4m3fnuz = 25, f8e4m3 = 28, f8e3m4 = 29, f8e8m0fnu = 33,
};
// clang-format on

struct Buffer {
    size_t struct_size;
    Extension* extensions;
    int32_t type;
    void* data;
    int64_t rank;
    int64_t* dims;
};

// Arguments and results: all are buffers.
struct Buffers {
    size_t struct_size;
    Extension* extensions;
    int64_t count;
    int32_t* types;
    void** buffers;
};

enum AttributeType : int32_t { scalar_attribute = 3, string_attribute = 4 };

struct Text {
    const char* characters;
    size_t length;
};

struct Scalar {
    int32_t type;
    void* value;
};

struct Attributes {
    size_t struct_size;
    Extension* extensions;
    int64_t count;
    int32_t* types;
    Text** names;
    void** values;
};

struct CallFrame {
    size_t struct_size;
    Extension* extensions;
    const Api* api;
    void* context;
    int32_t stage;  // execute_stage is the only one that calls a handler of the kind used here
    Buffers arguments, results;
    Attributes attributes;
};
inline constexpr int32_t execute_stage = 3;

}  // namespace gs::xla
