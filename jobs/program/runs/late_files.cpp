#include "jobs/program/runs/late_files.hpp"

#include <iostream>
#include <thread>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace {

/// Makes and removes a file there: a client of NFS that sees that the folder has changed under it forgets
/// what it knew of it.
void look_anew(const std::string& folder) {
    try {
        const AtomicPath passing(folder + "/look");
    } catch (const Error&) {  // not there yet, or not to be written: waiting helps as well
    }
}

}  // namespace

void await_files(const std::string& folder, const std::function<bool()>& there, const std::string& what,
                 std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    for (bool said = false; !there();) {
        const auto waited = Clock::now() - began;
        if (waited >= patience)
            throw Error(ExitCode::output,
                        "host " + host_name() + " does not see " + what + ", though it was written",
                        "all hosts need the same shared folder; where it shows files late, the same command "
                        "with --resume goes on with what is there, and nothing is paid for twice",
                        folder);
        if (!said && waited >= std::chrono::seconds(1)) {
            std::cerr << printable("holdfast: " + folder + ": host " + host_name() + " does not see " + what +
                                   " yet, and waits for it\n")
                      << std::flush;
            said = true;
        }
        look_anew(folder);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

}  // namespace holdfast
