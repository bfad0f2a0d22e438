#pragma once

#include <functional>
#include <memory>

#include "dist/comm/communicator.hpp"

namespace holdfast {

class MpiWatch;

/// Is this process one of those that mpirun or srun started?
bool launched_by_mpi();

/// Owns MPI for the life of the program. Outside mpirun and srun no MPI is started and world() is serial. Its
/// end waits for all ranks. Built without MPI (HOLDFAST_MPI=OFF), a launched one is refused: Error (usage).
/// `start_libraries` runs under the lock of MPI calls, once MPI is there: for libraries that call MPI. A
/// start of MPI that takes longer than run.stall_seconds of the command line ends this process, with exit
/// code 8.
class MpiSession {
  public:
    MpiSession(int& argc, char**& argv, const std::function<void()>& start_libraries);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    const Communicator& world() const { return *world_; }
    /// For a rank that fails: says so on stderr, once for all that fail with it, and ends every rank with
    /// this exit code. One rank alone goes on after its words.
    void fail(int code, const std::string& text) const;

    static std::string library_version();

  private:
    std::unique_ptr<MpiWatch> watch_;  ///< none without MPI
    std::unique_ptr<Communicator> world_;
};

}  // namespace holdfast
