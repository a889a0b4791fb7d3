// A node of a model.
#pragma once

#include <memory>
#include <string>

#include "attributes.hpp"
#include "tensors.hpp"
#include "threads.hpp"

namespace gs::ort {

class Kernel {
  public:
    // An error in the attributes is kept for the first call. Here, ONNX Runtime would drop its code and the node's
    // name.
    Kernel(const Host&, const Operator&, const KernelInfo*);

    Status* compute(KernelContext* context) noexcept {
        return host_.guard([&] { run(context); });
    }

  private:
    struct Call;

    void run(KernelContext*);

    const Host host_;
    const Operator& op_;
    Attributes attributes_{};
    std::string refusal_;  // empty: the attributes are right
    ThreadCount thread_count_;
};

}  // namespace gs::ort
