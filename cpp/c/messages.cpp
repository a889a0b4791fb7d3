#include "messages.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <new>
#include <variant>
#include <vector>

namespace gs {
namespace {

struct Sentence {
    std::string_view name, raises, text;
};

constexpr Sentence sentences[] = {
#include "sentences.inc"
};

const Sentence& find_sentence(std::string_view name) {
    // A name that is not in the file is a mistake in this library. The message then shows this text, and a test finds
    // it.
    static constexpr Sentence unknown{"", "ValueError", "{op}: an error without a sentence"};
    const auto at = std::ranges::find(sentences, name, &Sentence::name);
    return at == std::end(sentences) ? unknown : *at;
}

// Replaces {name} and {name!r} by their values.
std::string fill_in(std::string_view text, std::string_view op, std::span<const NamedValue> values) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const size_t open = std::min(text.find('{', at), text.size());
        result += text.substr(at, open - at);
        if (open == text.size()) break;
        const size_t close = text.find('}', open);
        std::string_view field = text.substr(open + 1, close - open - 1);
        const bool repr = field.ends_with("!r");
        if (repr) field.remove_suffix(2);
        const auto value = std::ranges::find(values, field, &NamedValue::name);
        if (field == "op")
            result += op;
        else if (value != values.end())
            result += repr ? value->value.repr : value->value.text;
        at = close + 1;
    }
    return result;
}

// Returns the length of the UTF-8 character at the beginning of a text; 0: it is not valid (Unicode, table 3-7).
size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                          : (first & 0xf0) == 0xe0         ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    const unsigned low = first == 0xe0   ? 0xa0
                         : first == 0xf0 ? 0x90
                                         : 0x80,
                   high = first == 0xed   ? 0x9f
                          : first == 0xf4 ? 0x8f
                                          : 0xbf;
    if (length == 0 || byte(1) < low || byte(1) > high) return 0;
    for (size_t i = 2; i < length; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
    return length;
}

// Returns a text as one line of UTF-8. A name that the host gave may be anything. Other bytes are escaped.
std::string to_line(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const size_t valid = character_length(text);
        const std::string_view character = text.substr(0, std::max<size_t>(valid, 1));
        const unsigned char first = static_cast<unsigned char>(character[0]);
        const bool ends_line = first < 0x20 || first == 0x7f || character == "\xc2\x85" ||
                               character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9";
        for (const char c : character) {
            char escape[8] = {c};
            if (valid == 0 || ends_line) std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
            line += escape;
        }
        text.remove_prefix(character.size());
    }
    return line;
}

gatherscatter_code code_of(std::string_view raises) {
    if (raises == "TypeError") return GATHERSCATTER_TYPE_ERROR;
    return raises == "IndexError" ? GATHERSCATTER_INDEX_ERROR : GATHERSCATTER_VALUE_ERROR;
}

std::span<const NamedValue> span_of(Values values) { return {values.begin(), values.size()}; }

gatherscatter_status* write(std::string_view error, std::string_view op, std::span<const NamedValue> values) {
    const Sentence& sentence = find_sentence("errors." + std::string(error));
    const std::string raises = fill_in(sentence.raises, op, values);
    return new gatherscatter_status{code_of(raises), to_line(fill_in(sentence.text, op, values))};
}

}  // namespace

Value::Value(IndexValue number) : text(number.negative ? "-" : "") {
    text += std::to_string(number.magnitude);
    repr = text;
}

Value::Value(const Shape& shape) {
    std::string sizes;
    for (int64_t n : shape) add_to_list(sizes, std::to_string(n));
    text.append("(").append(sizes).append(shape.rank == 1 ? ",)" : ")");
    repr = text;
}

std::string Value::quote(std::string_view words) {
    const bool has_apostrophe = words.find('\'') != words.npos, has_quote = words.find('"') != words.npos;
    const char mark = has_apostrophe && !has_quote ? '"' : '\'';
    std::string quoted(1, mark);
    for (const char c : words) {
        char escape[8] = {c};
        if (c == mark || c == '\\')
            std::snprintf(escape, sizeof escape, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            std::snprintf(escape, sizeof escape, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(c));
        quoted += escape;
    }
    return quoted + mark;
}

void add_to_list(std::string& list, std::string_view item) {
    if (!list.empty()) list += ", ";
    list += item;
}

std::string list_choices(std::span<const char* const> choices) {
    std::string listed;
    for (const char* choice : choices) add_to_list(listed, Value(choice).repr);
    return listed;
}

std::string suggest_choice(std::string_view word, std::span<const char* const> choices) {
    const auto between_spaces = [](std::string_view text) { return std::string(" ").append(text).append(" "); };
    std::string lower = between_spaces(word);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    std::string_view groups = find_sentence("same_meaning").text;
    while (!groups.empty()) {
        const std::string_view group = groups.substr(0, groups.find(';'));
        groups.remove_prefix(group.size() + 1);
        if (group.find(lower) == group.npos) continue;
        for (const char* choice : choices)
            if (group.find(between_spaces(choice)) != group.npos)
                return format_sentence("parts.did_you_mean", {{"names", Value(choice).repr}});
    }
    return "";
}

std::string format_sentence(std::string_view name, Values values) {
    return fill_in(find_sentence(name).text, "", span_of(values));
}

gatherscatter_status* make_status(std::string_view error, std::string_view op, Values values) noexcept {
    try {
        return write(error, op, span_of(values));
    } catch (...) {
        return out_of_memory();
    }
}

gatherscatter_status* make_status(const Problem& problem, std::string_view op) noexcept {
    if (!problem) return nullptr;
    try {
        std::vector<NamedValue> values;
        for (const auto& [name, given] : problem.values)
            values.push_back({name, std::visit([](const auto& value) { return Value(value); }, given)});
        return write(problem.error, op, values);
    } catch (...) {
        return out_of_memory();
    }
}

gatherscatter_status* out_of_memory() noexcept {
    static gatherscatter_status status{GATHERSCATTER_OUT_OF_MEMORY, "out of memory"};  // never released
    return &status;
}

std::string with_kind(const gatherscatter_status& status) {
    switch (status.code) {
        case GATHERSCATTER_TYPE_ERROR: return "TypeError: " + status.message;
        case GATHERSCATTER_VALUE_ERROR: return "ValueError: " + status.message;
        case GATHERSCATTER_INDEX_ERROR: return "IndexError: " + status.message;
        default: return status.message;
    }
}

}  // namespace gs

using namespace gs;

gatherscatter_code gatherscatter_status_code(const gatherscatter_status* status) {
    return status ? status->code : GATHERSCATTER_OK;
}

const char* gatherscatter_status_message(const gatherscatter_status* status) {
    return status ? status->message.c_str() : "";
}

void gatherscatter_status_release(gatherscatter_status* status) {
    if (status != out_of_memory()) delete status;
}
