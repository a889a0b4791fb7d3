// Follows beams from the last step to the first. The parent of each step names the beam of the step before.
#include <algorithm>
#include <vector>

#include "kernels.hpp"
#include "machine.hpp"
#include "parallel.hpp"

namespace gs {
namespace {

// Values are integers for any type T. A value that is not a valid beam gives -1.
template <class T>
int64_t beam(T value, int64_t beams) {
    if constexpr (std::integral<T>) {
        const bool valid = static_cast<uint64_t>(value) < static_cast<uint64_t>(beams);  // negative ones are large
        return valid ? static_cast<int64_t>(value) : -1;
    } else {
        const bool valid = value >= T{0} && static_cast<double>(value) < static_cast<double>(beams);
        return valid ? static_cast<int64_t>(value) : -1;
    }
}

template <class T>
int64_t sequence_length(T length, int64_t steps) {
    if (!(length > T{0})) return 0;
    return static_cast<double>(length) >= static_cast<double>(steps) ? steps : static_cast<int64_t>(length);
}

// The number of elements between two checks for signals.
constexpr int64_t at_once = block * 64;

// Counts elements, and checks from time to time whether the call has to stop.
class Pace {
  public:
    bool stop(int64_t elements) {
        left_ -= elements;
        if (left_ > 0 || stopped_) return stopped_;
        left_ = at_once;
        return stopped_ = should_stop_now();
    }

  private:
    int64_t left_ = at_once;
    bool stopped_ = false;
};

template <class T>
int64_t follow(const Beams& beams, const T* steps, const T* parents, const T* lengths, T end, T* out) {
    const int64_t level = beams.batch * beams.beams;
    if (beams.steps * level == 0) return -1;
    std::vector<int64_t> at(static_cast<size_t>(beams.beams));  // the current position of each beam
    const auto fill = [&](int64_t first, int64_t last) { std::fill(out + first, out + last, end); };
    if (!in_pieces(0, beams.steps * level, sizeof(T), fill)) return -1;
    Pace pace;
    for (int64_t n = 0; n < beams.batch; ++n) {
        const int64_t length = sequence_length(read_once(lengths[n]), beams.steps);
        // All beams of an entry move back together. Their loads from memory are independent and overlap.
        for (int64_t w = 0; w < beams.beams; ++w) at[w] = w;
        for (int64_t t = length - 1; t >= 0; --t) {
            const int64_t first = t * level + n * beams.beams;
            for (int64_t begin = 0; begin < beams.beams; begin += at_once) {
                const int64_t last = std::min(begin + at_once, beams.beams);
                if (pace.stop(last - begin)) return -1;
                for (int64_t w = begin; w < last; ++w) {
                    const int64_t from = first + at[w];
                    out[first + w] = steps[from];
                    if (t == 0) continue;
                    at[w] = beam(read_once(parents[from]), beams.beams);
                    if (at[w] < 0) return from;
                }
            }
        }
        for (int64_t w = 0; w < beams.beams; ++w) {
            T* const tokens = out + n * beams.beams + w;
            int64_t t = 0;
            while (t < length && tokens[t * level] != end && !pace.stop(1)) ++t;
            for (; t < length && !pace.stop(1); ++t) tokens[t * level] = end;
        }
    }
    return -1;
}

}  // namespace

int64_t gather_tree(const Beams& beams, DType dtype, const void* step_ids, const void* parent_ids,
                    const void* max_seq_len, const void* end_token, void* out) {
    const int64_t unknown = -1;
    return visit(dtype, unknown, [&]<class T>(std::type_identity<T>) -> int64_t {
        if constexpr (std::integral<T> || std::floating_point<T>)
            return follow(beams, static_cast<const T*>(step_ids), static_cast<const T*>(parent_ids),
                          static_cast<const T*>(max_seq_len), *static_cast<const T*>(end_token), static_cast<T*>(out));
        else
            return unknown;
    });
}

}  // namespace gs
