// Calls of ONNX Runtime. This library uses exceptions inside and statuses at its border.
#pragma once

#include <new>
#include <string>

#include "messages.hpp"
#include "ort_api.hpp"

namespace gs::ort {

// An error of ONNX Runtime, which is returned to it.
struct HostError {
    Status* status;
};

// A call that this package refuses. The message begins with its kind: "IndexError: ...".
struct Refusal {
    std::string message;
};

// Throws if there is a status, and releases it.
inline void require(gatherscatter_status* status) {
    if (!status) return;
    const bool out_of_memory = status->code == GATHERSCATTER_OUT_OF_MEMORY;
    Refusal refusal{with_kind(*status)};
    gatherscatter_status_release(status);
    if (out_of_memory) throw std::bad_alloc();
    throw refusal;
}

// Throws the error with this name in sentences.toml.
[[noreturn]] inline void refuse(const char* error, const std::string& op, Values values) {
    require(make_status(error, op, values));
    throw std::bad_alloc();  // never reached, because there is always a status
}

class Host {
  public:
    explicit Host(const Api& api) : api_(api) {}

    const Api* operator->() const { return &api_; }

    void check(Status* status) const {
        if (status) throw HostError{status};
    }

    // Whether a call succeeded. Its status is released.
    bool succeeds(Status* status) const {
        if (status) api_.ReleaseStatus(status);
        return !status;
    }

    // Calls f. Returns null, or a status for the exception that it threw.
    template <class F>
    Status* guard(F&& f) const noexcept {
        try {
            f();
            return nullptr;
        } catch (const HostError& error) {
            return error.status;
        } catch (const Refusal& refusal) {
            return api_.CreateStatus(invalid_argument, refusal.message.c_str());
        } catch (...) {  // only std::bad_alloc remains
            return api_.CreateStatus(fail, "gatherscatter: out of memory");
        }
    }

  private:
    const Api& api_;
};

// The type and shape of a tensor, which ONNX Runtime has allocated for this library.
class OwnedInfo {
  public:
    OwnedInfo(const Host& host, TensorInfo* info) : host_(host), info_(info) {}
    ~OwnedInfo() { host_->ReleaseTensorTypeAndShapeInfo(info_); }
    OwnedInfo(const OwnedInfo&) = delete;

    TensorInfo* get() const { return info_; }

  private:
    const Host& host_;
    TensorInfo* info_;
};

}  // namespace gs::ort
