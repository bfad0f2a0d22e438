#pragma once

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

namespace holdfast {

/// As many threads as so many multiply-adds feed: each gets a few hundred microseconds of work at least,
/// beside which starting and meeting the others costs little, even where another process has the other core.
inline int threads_for(double multiply_adds) {
    constexpr double least_per_thread = 1 << 20;
    const double fed = std::max(1.0, multiply_adds / least_per_thread);
    return static_cast<int>(std::min<double>(omp_get_max_threads(), fed));
}

/// Carries an exception out of a parallel region, which none may leave: a thread's work runs inside act(),
/// and rethrow() throws behind the region what one of them threw.
class ThreadFailure {
  public:
    template <typename Act>
    void guard(Act act) {
        try {
            act();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace holdfast
