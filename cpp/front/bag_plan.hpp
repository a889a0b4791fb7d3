// The front end of gather_reduce: from the tensors of a call to its plan.
#pragma once

#include <array>
#include <iterator>
#include <optional>

#include "gather_reduce.hpp"
#include "kernel_call.hpp"
#include "problem.hpp"
#include "tensor.hpp"

namespace gs {

// The inputs, in the order of the C interface.
enum class BagInput : uint8_t { data, indices, offsets, segment_ids, weights, init, indptr };
inline constexpr const char* bag_input_names[] = {"data",    "indices", "offsets", "segment_ids",
                                                  "weights", "init",    "indptr"};
inline constexpr size_t bag_input_count = std::size(bag_input_names);

class BagTensors {
  public:
    Tensor& operator[](BagInput input) { return tensors_[static_cast<size_t>(input)]; }
    const Tensor& operator[](BagInput input) const { return tensors_[static_cast<size_t>(input)]; }
    Tensor& operator[](size_t i) { return tensors_[i]; }
    const Tensor& operator[](size_t i) const { return tensors_[i]; }

  private:
    std::array<Tensor, bag_input_count> tensors_;
};

struct BagPlan {
    GatherReduce call;
    Shape output;  // bags, then a row of data; complete if the number of bags is known
};

// Returns the input that defines the bags in this form: offsets, indptr or segment ids. Bags in the last dimension of
// indices have none.
BagInput bag_input_of(BagForm);

// Checks the shapes of a call and makes its plan. Types have already been checked. If only the values of segment ids
// tell the number of bags, it is `unknown_bags`, and `set_bags` completes the plan.
[[nodiscard]] Problem plan_bags(const BagTensors&, const Operation&, std::optional<int64_t> num_segments, BagPlan&);
[[nodiscard]] Problem set_bags(const BagTensors&, int64_t bags, BagPlan&);

// Whether the types fit: the elements have the reduction, weights and init have the type of data, and all others are
// integers.
bool have_fitting_types(const BagTensors&, const Operation&);

// The inputs of a call with its plan. `memory` has the addresses in the order of the inputs; those of absent inputs are
// not used.
GatherReduceInputs inputs_of(const BagTensors&, const BagPlan&, const void* const* memory);

// Returns the error for offsets or ids that do not ascend, or do not begin or end as they must. Another thread may have
// changed them in the meantime.
[[nodiscard]] Problem find_bag_problem(const BagPlan&, const void* values, IndexType);

}  // namespace gs
