// Fills the sentences of sentences.toml with values. The values are written as Python writes them.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "bad_indices.hpp"
#include "gatherscatter.h"
#include "plan.hpp"
#include "problem.hpp"

struct gatherscatter_status {
    gatherscatter_code code;
    std::string message;
};

namespace gs {

// A value as Python's str() writes it, and as repr() does.
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

// Appends an item to a list in a sentence: "a, b".
void add_to_list(std::string& list, std::string_view item);

// Returns the choices as a sentence lists them: "'a', 'b'".
std::string list_choices(std::span<const char* const> choices);

// Returns the suggestion at the end of an error about an invalid word; empty if no choice has the same meaning.
std::string suggest_choice(std::string_view word, std::span<const char* const> choices);

// Returns the filled sentence of a section and a name, such as "parts.axis".
std::string format_sentence(std::string_view name, Values);

// Returns the status for an error in section "errors". It does not throw. If memory runs out, it returns the status of
// out_of_memory().
gatherscatter_status* make_status(std::string_view error, std::string_view op, Values) noexcept;

// Returns the status for a problem, or null if nothing is wrong.
gatherscatter_status* make_status(const Problem&, std::string_view op) noexcept;

gatherscatter_status* out_of_memory() noexcept;

// Returns the message with its kind in front, such as "IndexError: ...", for hosts without codes.
std::string with_kind(const gatherscatter_status&);

}  // namespace gs
