// A call on NumPy arrays, checked and decided upon. `prepare` makes it, `run` carries it out, `describe_call` reports
// it.
#pragma once

#include "call.hpp"
#include "numpy_arrays.hpp"

namespace gs {

// Views of the arguments. While this code or NumPy releases the interpreter lock, other threads may change types and
// shapes of the caller's arrays. The views keep theirs.
class PinnedViews {
  public:
    [[nodiscard]] bool pin(Call&);  // false: an exception is set

  private:
    Ref views_[4];
};

struct PreparedCall {
    explicit PreparedCall(const Call& given) : call(given) {}

    Call call;                   // its arrays are views if other threads may change the caller's
    KernelCall kernel_call;      // plan, layout, index and route
    Ref indices;                 // contiguous; a line if they were expanded
    bool reads_strides = false;  // data is read where it lies
    bool copies_data = false, copies_indices = false, copies_updates = false;  // first, into contiguous arrays
    bool made_apart = false;  // the result is copied to `out` in the end
    PinnedViews views;

    bool writes_out() const { return call.out && !made_apart; }  // while the kernel runs
    int64_t copied_bytes() const;                                // for arrays beside inputs and output
};

// The outcome `done`: the call is ready to run. Nothing has been written.
Outcome prepare(PreparedCall&);

}  // namespace gs
