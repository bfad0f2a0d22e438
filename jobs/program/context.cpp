#include "jobs/program/context.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

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
    errno = 0;
    std::cout << printable(json ? object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                                : text);
    flush_stdout();
}

void Context::flush_stdout() const {
    if (std::cout.flush()) return;
    const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
    throw Error(ExitCode::output, "cannot be written" + reason,
                std::string("free some space, or redirect the output to another file") +
                    (charges ? "; the work is kept, and the same command again costs nothing more" : ""),
                "stdout");
}

}  // namespace holdfast
