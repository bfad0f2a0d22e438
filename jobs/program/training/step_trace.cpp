#include "jobs/program/training/step_trace.hpp"

#include <spdlog/logger.h>
#include <cstdio>

namespace holdfast {
namespace {

std::string text_of(const PhaseTimes& times) {
    char text[96];
    std::snprintf(text, sizeof text, "sums %.4f s, reduction %.4f s, charge and update %.4f s", times.sums,
                  times.reduction, times.update);
    return text;
}

}  // namespace

void StepTrace::add(std::size_t member, const Trainer& trainer, const PhaseTimes& times) {
    since_line_ += times;
    all_ += times;
    if (!shown_ || ++steps_ % every_ != 0) return;
    context_.log->info("member {}  {}  {}", member, trainer.step_text(), text_of(since_line_));
    since_line_ = {};
}

void StepTrace::finish() const {
    if (shown_) context_.log->info("{} steps on this rank: {}", steps_, text_of(all_));
}

}  // namespace holdfast
