#include "reduce_columns.hpp"

namespace gs {
namespace {

template <class T>
using IsFloat = std::bool_constant<Float<T>>;

}  // namespace

BagLoops float_bag_loops(const Combine& combine, bool weighted) { return plain_loops<IsFloat>(combine, weighted); }

}  // namespace gs
