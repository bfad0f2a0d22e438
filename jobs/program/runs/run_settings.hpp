#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

template <typename Section>
struct BasicOption;  // models/settings/option.hpp

/// Section "run": how a job is carried out. No result depends on any of it.
struct RunSettings {
    std::string backend = "auto";
    std::int64_t threads = 0;   ///< 0: as OpenMP decides
    std::string grid = "auto";  ///< MEMBERSxLEVELSxBLOCKS
    std::string transport = "auto";
    double stall_seconds = 900;
    std::int64_t checkpoint_steps = 0;
    double checkpoint_seconds = 600;
};

std::vector<BasicOption<RunSettings>> run_options();

}  // namespace holdfast
