// Walking the index box of the lanes form: runs of consecutive box elements whose places in data are evenly spaced.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan.hpp"

namespace gs {

// Box element j of a run lies at data offset base + position[j] * axis stride + j * step.
struct Run {
    int64_t base, step, length;
};

class LaneWalk {
  public:
    // Starts at a flat element of the box, which must exist.
    LaneWalk(const Lanes& lanes, int64_t element) {
        // The innermost dim is what a run goes along: the last one after the axis, else the axis itself.
        const Shape& after = lanes.after;
        run_length_ = after.rank > 0 ? after[after.rank - 1] : lanes.count;
        step_ = after.rank > 0 ? lanes.after_stride[after.rank - 1] : 0;
        for (int d = 0; d < lanes.before.rank; ++d) add(lanes.before[d], lanes.before_stride[d]);
        if (after.rank > 0) add(lanes.count, 0);
        for (int d = 0; d + 1 < after.rank; ++d) add(after[d], lanes.after_stride[d]);

        in_run_ = element % run_length_;
        int64_t rest = element / run_length_;
        for (int d = rank_ - 1; d >= 0; --d) {
            at_[d] = rest % size_[d];
            rest /= size_[d];
            base_ += at_[d] * stride_[d];
        }
    }

    // The next run, of at most `limit` elements, which stays on this side of the next row of the box.
    Run next(int64_t limit) {
        const Run run{base_ + in_run_ * step_, step_, std::min(limit, run_length_ - in_run_)};
        in_run_ += run.length;
        if (in_run_ == run_length_) {
            in_run_ = 0;
            advance();
        }
        return run;
    }

  private:
    void add(int64_t size, int64_t stride) {
        size_[rank_] = size;
        stride_[rank_] = stride;
        ++rank_;
    }

    void advance() {
        for (int d = rank_ - 1; d >= 0; --d) {
            base_ += stride_[d];
            if (++at_[d] < size_[d]) return;
            base_ -= size_[d] * stride_[d];
            at_[d] = 0;
        }
    }

    int64_t run_length_, step_, base_ = 0, in_run_ = 0;
    int rank_ = 0;
    int64_t size_[max_rank], stride_[max_rank], at_[max_rank];
};

}  // namespace gs
