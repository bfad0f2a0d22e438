#pragma once

#include <cstddef>

#include "dist/comm/communicator.hpp"
#include "dist/runs/member_store.hpp"
#include "dist/runs/progress_log.hpp"
#include "models/kinds/trainer.hpp"

namespace holdfast {

/// The lines that a training leaves for holdfast watch, of one member (dist/runs/progress_log.hpp).
class MemberProgress {
  public:
    /// Begins with where it goes on; members: of the run. `writes`: this rank does, and the kind has no
    /// secrets; else nothing is written.
    MemberProgress(bool writes, const MemberStore& store, std::size_t member, std::size_t members,
                   const Trainer& trainer, const Communicator& world);
    void step_done(const Trainer& trainer);
    void stopped(const Trainer& trainer);

  private:
    std::size_t member_;
    ProgressLog log_;
};

}  // namespace holdfast
