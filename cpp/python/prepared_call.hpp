// A call on NumPy arrays, checked and planned. `prepare` makes it, `run` executes it, `describe_call` reports it.
#pragma once

#include "call.hpp"
#include "numpy_arrays.hpp"

namespace gs {

// Whether a scatter changes data. `out` may be another array of the same memory, such as a view.
bool is_in_place(const Call&);

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

    Call call;                   // its arrays are views if other threads may change the caller's arrays
    KernelCall kernel_call;      // plan, layout, index and route
    Ref indices;                 // contiguous; a line if they were expanded
    bool reads_strides = false;  // data is read with its strides
    bool copies_data = false, copies_indices = false, copies_updates = false;  // into contiguous arrays, first
    bool casts_updates = false;  // to the type of data, while they are copied
    bool made_apart = false;     // the result is copied to `out` at the end
    PinnedViews views;

    bool writes_out() const { return call.out && !made_apart; }  // while the kernel runs
    int64_t copied_bytes() const;                                // of arrays in addition to inputs and output
};

// If the outcome is `done`, the call is ready to run. Nothing has been written yet.
Outcome prepare(PreparedCall&);

}  // namespace gs
