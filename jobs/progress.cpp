#include "jobs/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace holdfast {

Progress::Progress(const Context& context, std::string what, std::int64_t total, bool shown)
    : shown_(shown && !context.quiet && context.world.is_root()),
      terminal_(::isatty(STDERR_FILENO) == 1),
      what_(std::move(what)),
      total_(total) {}

Progress::~Progress() {
    if (line_open_) std::fputc('\n', stderr);
}

void Progress::advance_to(std::int64_t done) {
    const double elapsed = seconds(), interval = terminal_ ? 0.2 : 10.0;
    if (!shown_ || elapsed - last_shown_ < interval || done == 0) return;
    last_shown_ = elapsed;
    const double left = elapsed * static_cast<double>(total_ - done) / static_cast<double>(done);
    std::fprintf(stderr, "%s%s  %lld/%lld  %.1f s, %.0f s left%s", terminal_ ? "\r\033[K" : "", what_.c_str(),
                 static_cast<long long>(done), static_cast<long long>(total_), elapsed, left,
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
    line_open_ = terminal_;
}

}  // namespace holdfast
