#pragma once

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <string>
#include <vector>

#include "jobs/program/job.hpp"

namespace holdfast {

/// A job with its options read as of its command line. Throws std::invalid_argument where they are wrong.
Run parsed_job(Run (*declare)(const Command&), const std::vector<std::string>& words);

/// Runs a job as its command line would, alone and without log; what it printed.
inline std::string run_job(Run (*declare)(const Command&), const std::vector<std::string>& words,
                           bool json = false) {
    const Run job = parsed_job(declare, words);
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
