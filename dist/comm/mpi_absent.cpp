// Where the program is built without MPI: one process, which adds to nobody.

#include <iostream>

#include "dist/comm/mpi.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {

class MpiWatch {};

MpiSession::MpiSession(int&, char**&, const std::function<void()>&) {
    if (launched_by_mpi())
        throw Error(ExitCode::usage, "this program is built without MPI, so every rank would do all the work",
                    "start it alone, or build it with HOLDFAST_MPI=ON", "MPI");
    world_ = make_serial_communicator();
}

MpiSession::~MpiSession() = default;

void MpiSession::fail(int, const std::string& text) const {
    std::cerr << printable("holdfast: " + text + "\n") << std::flush;
}

std::string MpiSession::library_version() {
    return "none";
}

}  // namespace holdfast
