// A reference to a callable that must outlive it. Making one does not allocate memory, so it cannot fail.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

namespace gs {

template <class>
class FunctionRef;

template <class R, class... A>
class FunctionRef<R(A...)> {
  public:
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef>)
    FunctionRef(const F& function)
        : object_(std::addressof(function)), call_([](const void* object, A... arguments) -> R {
              return (*static_cast<const F*>(object))(arguments...);
          }) {}

    R operator()(A... arguments) const { return call_(object_, arguments...); }

  private:
    const void* object_;
    R (*call_)(const void*, A...);
};

}  // namespace gs
