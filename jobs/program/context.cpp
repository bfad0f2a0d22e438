#include "jobs/program/context.hpp"

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>

namespace holdfast {
namespace {

volatile std::sig_atomic_t signal_received = 0;  // the one thing a signal handler may write

void on_signal(int number) {
    signal_received = number;
}

}  // namespace

void install_signal_handlers() {
    std::signal(SIGTERM, on_signal);
    std::signal(SIGUSR1, on_signal);
}

bool Context::interrupted_by_signal() const {
    return signal_received != 0;
}

void Context::print(const nlohmann::json& object, const std::string& text) const {
    if (!world.is_root()) return;
    // A message may quote a damaged file, whose bytes need be no text.
    std::cout << (json ? object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : text)
              << std::flush;
}

}  // namespace holdfast
