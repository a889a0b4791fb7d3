#include "reduce_columns.hpp"

namespace gs {
namespace {

template <class T>
using IsNotFloat = std::bool_constant<!Float<T>>;

}  // namespace

BagLoops bag_loops(const Combine& combine, bool weighted) {
    const BagLoops of_floats = float_bag_loops(combine, weighted);
    return of_floats.columns > 0 ? of_floats : plain_loops<IsNotFloat>(combine, weighted);
}

}  // namespace gs
