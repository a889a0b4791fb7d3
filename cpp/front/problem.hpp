// A problem with the arguments of a call. Each interface writes the message in its own form.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plan.hpp"

namespace gs {

struct Problem {
    using Value = std::variant<int64_t, std::string, Shape>;

    const char* error = nullptr;  // the name of the error in sentences.toml; null: nothing is wrong
    std::vector<std::pair<const char*, Value>> values = {};

    explicit operator bool() const { return error != nullptr; }
};

}  // namespace gs
