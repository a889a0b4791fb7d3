// Beams from back to front: each step's parent says which beam of the step before it came from.
#include "kernels.hpp"

namespace gs {
namespace {

// Values are integers whatever T is; a value that is no valid beam gives -1.
template <class T>
int64_t beam(T value, int64_t beams) {
    const bool valid = value >= T{0} && static_cast<double>(value) < static_cast<double>(beams);
    return valid ? static_cast<int64_t>(value) : -1;
}

template <class T>
int64_t sequence_length(T length, int64_t steps) {
    if (!(length > T{0})) return 0;
    return static_cast<double>(length) >= static_cast<double>(steps) ? steps : static_cast<int64_t>(length);
}

template <class T>
int64_t follow(const Beams& beams, const T* steps, const T* parents, const T* lengths, T end, T* out) {
    const int64_t level = beams.batch * beams.beams;
    for (int64_t i = 0; i < beams.steps * level; ++i) out[i] = end;
    for (int64_t n = 0; n < beams.batch; ++n) {
        const int64_t length = sequence_length(lengths[n], beams.steps);
        for (int64_t w = 0; w < beams.beams && length > 0; ++w) {
            int64_t at = (length - 1) * level + n * beams.beams + w;  // where the beam stands at this time
            out[at] = steps[at];
            for (int64_t t = length - 2; t >= 0; --t) {
                const int64_t parent = beam(parents[at], beams.beams);
                if (parent < 0) return at;
                at = t * level + n * beams.beams + parent;
                out[t * level + n * beams.beams + w] = steps[at];
            }
            bool ended = false;
            for (int64_t t = 0; t < length; ++t) {
                T& value = out[t * level + n * beams.beams + w];
                if (ended) value = end;
                ended = ended || value == end;
            }
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
