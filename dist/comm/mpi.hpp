#pragma once

#include <memory>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// Owns MPI for the life of the program. Outside mpirun and srun no MPI is started and world() is serial.
class MpiSession {
  public:
    MpiSession(int& argc, char**& argv);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    const Communicator& world() const { return *world_; }
    /// Ends every rank with this exit code: for a rank that fails alone.
    [[noreturn]] void abort(int code) const;

    static std::string library_version();

  private:
    bool started_ = false;
    std::unique_ptr<Communicator> world_;
};

}  // namespace holdfast
