// A stand-in for ONNX Runtime's header, which no Python package has: what examples/onnxruntime_cpp uses of it.
//
// OrtApi is an array of functions. Their positions in it never change.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

enum OrtAllocatorType { OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeDefault = 0 };
using OrtApi = void* const*;
struct OrtApiBase {
    OrtApi (*GetApi)(std::uint32_t version);
    const char* (*GetVersionString)();
};
extern "C" const OrtApiBase* OrtGetApiBase();

namespace Ort {

enum Slot {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    CREATE_TENSOR_WITH_DATA = 49,
    GET_TENSOR_MUTABLE_DATA = 51,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_ENV = 92,
    RELEASE_STATUS = 93,
    RELEASE_MEMORY_INFO = 94,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_SESSION_OPTIONS = 100,
    REGISTER_CUSTOM_OPS_LIBRARY = 228,
};

template <class Result, class... Arguments>
Result call(Slot slot, Arguments... arguments) {
    static const OrtApi api = OrtGetApiBase()->GetApi(17);
    return reinterpret_cast<Result (*)(Arguments...)>(api[slot])(arguments...);
}

class Exception : public std::exception {
  public:
    explicit Exception(void* status) : text_(call<const char*>(GET_ERROR_MESSAGE, status)) {
        call<void>(RELEASE_STATUS, status);
    }
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::string text_;
};

template <class... Arguments>
void check(Slot slot, Arguments... arguments) {
    if (void* status = call<void*>(slot, arguments...)) {
        throw Exception(status);
    }
}

// An object of ONNX Runtime, released at the end.
class Owner {
  public:
    explicit Owner(Slot release) : release_(release) {}
    Owner(Owner&& other) noexcept : release_(other.release_), object_(std::exchange(other.object_, nullptr)) {}
    ~Owner() {
        if (object_ != nullptr) {
            call<void>(release_, object_);
        }
    }
    void* get() const { return object_; }

  protected:
    Slot release_;
    void* object_ = nullptr;
};

struct Env : Owner {
    Env() : Owner(RELEASE_ENV) { check(CREATE_ENV, 2, "", &object_); }
};

struct SessionOptions : Owner {
    SessionOptions() : Owner(RELEASE_SESSION_OPTIONS) { check(CREATE_SESSION_OPTIONS, &object_); }
    void RegisterCustomOpsLibrary(const char* path) { check(REGISTER_CUSTOM_OPS_LIBRARY, object_, path); }
};

struct MemoryInfo : Owner {
    MemoryInfo() : Owner(RELEASE_MEMORY_INFO) {}
    static MemoryInfo CreateCpu(OrtAllocatorType allocator, OrtMemType type) {
        MemoryInfo made;
        check(CREATE_CPU_MEMORY_INFO, int(allocator), int(type), &made.object_);
        return made;
    }
};

struct Value : Owner {
    Value() : Owner(RELEASE_VALUE) {}
    template <class T>
    static Value CreateTensor(const MemoryInfo& memory, T* data, std::size_t count, const std::int64_t* shape,
                              std::size_t rank) {
        Value made;
        const int type = sizeof(T) == 8 ? 7 : 1;  // int64 and float
        check(CREATE_TENSOR_WITH_DATA, memory.get(), static_cast<void*>(data), count * sizeof(T), shape, rank, type,
              &made.object_);
        return made;
    }
    template <class T>
    const T* GetTensorData() const {
        void* data = nullptr;
        check(GET_TENSOR_MUTABLE_DATA, object_, &data);
        return static_cast<const T*>(data);
    }
    void take(void* object) { object_ = object; }
};

struct RunOptions {
    explicit RunOptions(std::nullptr_t) {}
};

struct Session : Owner {
    Session(const Env& env, const char* path, const SessionOptions& options) : Owner(RELEASE_SESSION) {
        check(CREATE_SESSION, env.get(), path, options.get(), &object_);
    }
    std::vector<Value> Run(const RunOptions&, const char* const* input_names, const Value* inputs, std::size_t count,
                           const char* const* output_names, std::size_t output_count) {
        std::vector<const void*> given;
        for (std::size_t i = 0; i < count; ++i) {
            given.push_back(inputs[i].get());
        }
        std::vector<void*> made(output_count);
        check(RUN, object_, static_cast<void*>(nullptr), input_names, given.data(), count, output_names, output_count,
              made.data());
        std::vector<Value> outputs(output_count);
        for (std::size_t i = 0; i < output_count; ++i) {
            outputs[i].take(made[i]);
        }
        return outputs;
    }
};

}  // namespace Ort
