#pragma once

#include <utility>

#include "models/kinds/trainer.hpp"

namespace holdfast {

/// What a trainer shows of the one inside that does the steps. Inner: steps(), step(ranks, times), and
/// state() with `step`, `metrics` of which each has text(), and packed().
template <typename Inner>
class TrainerOf : public Trainer {
  public:
    std::int64_t steps() const final { return trainer_.steps(); }
    std::int64_t steps_done() const final { return trainer_.state().step; }
    void step(const Communicator& block_group, PhaseTimes& times) final { trainer_.step(block_group, times); }
    std::string step_text() const final { return trainer_.state().metrics.back().text(); }
    nlohmann::json step_json(std::size_t member) const final {
        return trainer_.state().metrics.back().to_json(member);
    }
    std::vector<std::byte> packed_state() const final { return trainer_.state().packed(); }

  protected:
    template <typename... Arguments>
    explicit TrainerOf(Arguments&&... arguments) : trainer_(std::forward<Arguments>(arguments)...) {}
    Inner trainer_;
};

}  // namespace holdfast
