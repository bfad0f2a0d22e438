#pragma once

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <string>
#include <vector>

#include "jobs/job.hpp"

namespace holdfast {

/// Runs a job as its command line would, alone and without log; what it printed.
inline std::string run_job(Run (*declare)(CLI::App&), const std::vector<std::string>& words,
                           bool json = false) {
    CLI::App app;
    const Run job = declare(app);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    const auto world = make_serial_communicator();
    testing::internal::CaptureStdout();
    try {
        job({*world, std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::null_sink_mt>()),
             json});
    } catch (...) {
        testing::internal::GetCapturedStdout();
        throw;
    }
    return testing::internal::GetCapturedStdout();
}

}  // namespace holdfast
