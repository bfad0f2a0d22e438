// holdfast watch: how far a training is, for its owner.
//   holdfast watch run
//   holdfast watch run --once --json

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "jobs/program/job.hpp"
#include "jobs/training/watch/run_progress.hpp"

namespace holdfast {
namespace {

struct WatchOptions {
    std::string run;
    bool once = false;
    double interval = 2;  // seconds
};

double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// In small pieces, so that a signal ends it.
void wait(const Context& context, double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < until && !context.interrupted_by_signal())
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void watch(const WatchOptions& options, const Context& context) {
    if (!context.world.is_root()) return;
    install_signal_handlers();
    const bool in_place = !context.json && !options.once && ::isatty(STDOUT_FILENO) == 1;
    while (true) {
        // 1. What the folder shows now.
        const RunView run = look_at(options.run, now());
        // 2. Over what was shown before; elsewhere than on a terminal, and with --json, one behind the other.
        if (in_place) std::cout << "\033[H\033[J";
        context.print(run.to_json(), run.text());
        // 3. Until there is no more to see.
        if (options.once || run.state == RunState::finished || context.interrupted_by_signal()) return;
        wait(context, options.interval);
        if (context.interrupted_by_signal()) return;
    }
}

}  // namespace

Run declare_watch(const Command& command) {
    auto options = std::make_shared<WatchOptions>();
    command.add_option("run", options->run, "Run folder").required();
    command.add_flag("--once", options->once, "Say it once and end, whatever the run does");
    command.add_option("--interval", options->interval, "Seconds from one look to the next")
        .within(0.1, 86400.0)
        .show_default();
    command.add_footer(
        "States: finished; running; silent, no step for longer than ten of them take; stopped by a signal "
        "after a "
        "checkpoint; interrupted, its process is gone; hidden, it shows nothing (before the first step, and "
        "training with noise until it is done). Without --once it looks until the run is finished.\n");
    return [options](const Context& context) { watch(*options, context); };
}

}  // namespace holdfast
