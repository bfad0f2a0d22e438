#pragma once

#include <spdlog/logger.h>
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// What every subcommand has: the ranks it runs on and where its words go.
/// stdout carries the result (a table for people, or one JSON object), stderr the log and progress; rank 0
/// speaks.
struct Context {
    const Communicator& world;
    std::shared_ptr<spdlog::logger> log;  ///< stderr; silent with --quiet and on every rank but 0
    bool json = false;
    bool quiet = false;
    bool interrupted_by_signal()
        const;  ///< SIGTERM or SIGUSR1 has come (this rank only: agree before acting)

    /// The job's one result: `object` with --json, else `text`.
    void print(const nlohmann::json& object, const std::string& text) const;
};

/// SIGTERM and SIGUSR1 are remembered from now on: for jobs that look between steps.
void install_signal_handlers();

/// A subcommand: declares its options on `app` and returns what runs once they are parsed. One file each in
/// jobs/.
using Run = std::function<void(const Context&)>;
struct Job {
    const char* name;
    const char* summary;
    Run (*declare)(CLI::App& app);
};

Run declare_synth(CLI::App& app);
Run declare_import(CLI::App& app);
Run declare_inspect(CLI::App& app);
Run declare_advise(CLI::App& app);
Run declare_pretrain(CLI::App& app);
Run declare_train(CLI::App& app);
Run declare_watch(CLI::App& app);
Run declare_plan(CLI::App& app);
Run declare_fleet(CLI::App& app);
Run declare_idp(CLI::App& app);
Run declare_certify(CLI::App& app);
Run declare_unlearn(CLI::App& app);
Run declare_verify(CLI::App& app);
Run declare_evaluate(CLI::App& app);
Run declare_account(CLI::App& app);
Run declare_release(CLI::App& app);
Run declare_access(CLI::App& app);
Run declare_influence(CLI::App& app);
Run declare_publish(CLI::App& app);
Run declare_predict(CLI::App& app);
Run declare_student(CLI::App& app);
Run declare_statement(CLI::App& app);
Run declare_report(CLI::App& app);
Run declare_bench(CLI::App& app);
Run declare_doctor(CLI::App& app);
Run declare_completion(CLI::App& app);
Run declare_man(CLI::App& app);

}  // namespace holdfast
