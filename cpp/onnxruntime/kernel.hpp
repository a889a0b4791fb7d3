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
    // An error in the attributes is kept until the first call. In the constructor, ONNX Runtime would drop its code and
    // the name of the node.
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
    std::string refusal_;  // empty: the attributes are valid
    ThreadCount thread_count_;
};

}  // namespace gs::ort
