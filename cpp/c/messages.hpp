// The sentences of sentences.toml with their values, in the words that Python writes them.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "bad_indices.hpp"
#include "gatherscatter.h"
#include "plan.hpp"

struct gatherscatter_status {
    gatherscatter_code code;
    std::string message;
};

namespace gs {

// A value as str() of Python writes it, and as repr() does.
struct Value {
    std::string text, repr;

    Value(std::string words) : text(std::move(words)), repr(quote(text)) {}
    Value(std::string_view words) : Value(std::string(words)) {}
    Value(const char* words) : Value(std::string(words)) {}
    Value(std::integral auto number) : text(std::to_string(number)), repr(text) {}
    Value(IndexValue number);
    Value(const Shape& shape);  // a tuple

  private:
    static std::string quote(std::string_view words);
};

struct NamedValue {
    std::string_view name;
    Value value;
};
using Values = std::initializer_list<NamedValue>;

// Adds an item to a list that sentences show: "a, b".
void add_to_list(std::string& list, std::string_view item);

// "'a', 'b'", as a sentence lists choices.
std::string list_choices(std::span<const char* const> choices);

// The sentence of a section and a name, such as "parts.axis".
std::string format_sentence(std::string_view name, Values);

// The status of an error in section "errors". Null only if there is no memory for an exception, either: it does not
// throw, and gives the status of std::bad_alloc if memory runs out.
gatherscatter_status* make_status(std::string_view error, std::string_view op, Values) noexcept;

gatherscatter_status* out_of_memory() noexcept;

// "IndexError: ..." and so on: how messages begin where the host knows no codes.
std::string with_kind(const gatherscatter_status&);

}  // namespace gs
