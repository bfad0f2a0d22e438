#include "jobs/program/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "kernels/base/utf8.hpp"

namespace holdfast {

Progress::Progress(const Context& context, std::string what, std::int64_t total, Show show)
    : show_(context.quiet || !context.world.is_root() ? Show::nothing : show),
      terminal_(::isatty(STDERR_FILENO) == 1),
      what_(printable(what)),
      total_(total) {}

Progress::~Progress() {
    if (line_open_) std::fputc('\n', stderr);
}

void Progress::advance_to(std::int64_t done) {
    if (show_ == Show::tenths) return show_tenths(done);
    const double elapsed = seconds(), interval = terminal_ ? 0.2 : 10.0;
    if (show_ == Show::nothing || elapsed - last_shown_ < interval || done == 0) return;
    last_shown_ = elapsed;
    const double left = elapsed * static_cast<double>(total_ - done) / static_cast<double>(done);
    std::fprintf(stderr, "%s%s  %lld/%lld  %.1f s, %.0f s left%s", terminal_ ? "\r\033[K" : "", what_.c_str(),
                 static_cast<long long>(done), static_cast<long long>(total_), elapsed, left,
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
    line_open_ = terminal_;
}

void Progress::show_tenths(std::int64_t done) {
    const std::int64_t tenth = 10 * done / total_;
    if (tenth == last_tenth_) return;
    last_tenth_ = tenth;
    std::fprintf(stderr, "%s  %lld/%lld\n", what_.c_str(), static_cast<long long>(done),
                 static_cast<long long>(total_));
}

}  // namespace holdfast
