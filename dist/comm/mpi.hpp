#pragma once

#include <memory>

#include "dist/comm/communicator.hpp"

namespace holdfast {

class MpiWatch;

/// Owns MPI for the life of the program. Outside mpirun and srun no MPI is started and world() is serial. Its
/// end waits for all ranks.
class MpiSession {
  public:
    MpiSession(int& argc, char**& argv);
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
