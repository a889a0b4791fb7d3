// A call on NumPy arrays, checked and planned. `prepare` makes it, `run` executes it, `describe_call` reports it.
#pragma once

#include "call.hpp"
#include "move_plan.hpp"
#include "numpy_arrays.hpp"

namespace gs {

// Views of the arguments. While this code or NumPy releases the interpreter lock, other threads may change types and
// shapes of the caller's arrays. The types and shapes of the views do not change.
class PinnedViews {
  public:
    [[nodiscard]] bool pin(Call&);  // false: an exception is set

  private:
    Ref views_[4];
};

struct PreparedCall {
    explicit PreparedCall(const Call& given) : call(given) {}

    Call call;               // its arrays are views if other threads may change the caller's arrays
    KernelCall kernel_call;  // plan, layout, index and route
    Arrangement how;
    Ref indices;                 // contiguous; a line if they were expanded
    bool casts_updates = false;  // to the type of data, while they are copied
    int64_t copied_bytes = 0;    // of arrays in addition to inputs and output
    PinnedViews views;
};

// If the outcome is `done`, the call is ready to run. Nothing has been written yet.
Outcome prepare(PreparedCall&);

}  // namespace gs
