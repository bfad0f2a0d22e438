#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dist/comm/presence.hpp"

namespace holdfast {

/// Error (communication) unless MPI says that all is well.
void check_mpi(int status, const char* operation);

/// Sees to it that no wait is for ever. A thread of its own tells rank 0, over MPI, that this rank is alive,
/// whether it waits and how far it is; rank 0 answers. Once no rank has got any further for so long, whoever
/// waits is told to give up: rank 0 of all ranks, another when it hears no more of rank 0. MPI is called
/// under one lock, by calls that return at once: so the thread needs no MPI that is safe for several.
class MpiWatch {
  public:
    MpiWatch();  ///< before MPI is started, whose start is watched too
    ~MpiWatch();
    MpiWatch(const MpiWatch&) = delete;
    MpiWatch& operator=(const MpiWatch&) = delete;

    /// Held around every call of MPI.
    std::unique_lock<std::timed_mutex> calls() { return std::unique_lock(calls_); }
    void start(MPI_Comm world);  ///< MPI is there; takes a copy of `world`
    void give_up_after(double seconds) { limit_ = seconds; }

    /// Before and after waiting for other ranks; `stalled` throws Error (communication) once the job is given
    /// up.
    void begin_wait() { waits_ = true; }
    void end_wait() {
        ++operations_;
        waits_ = false;
    }
    void throw_if_stalled() const;

    /// For a rank that fails. True: no other has been asked to say so. Takes up to 5 s where rank 0 is lost.
    bool may_speak();
    /// Tells the others that this rank is done. left(): all have.
    void leave();
    bool left() const { return left_; }
    /// From here on MPI has a few seconds to end this process.
    void expect_end(int code);

  private:
    /// To and from another rank: rank 0 has one to each, the others to rank 0.
    struct Line {
        int to;
        Sign out{};
        MPI_Request sending = MPI_REQUEST_NULL;
        Sign::Kind next = Sign::alive;  ///< what cannot wait, if it is something else
        bool due = false;
    };

    void run();
    void look(double passed);
    void receive();
    void take(int from, const Sign& sign);
    void send();
    Sign own(Sign::Kind kind) const;
    void hurry();

    std::timed_mutex calls_;
    std::atomic<double> limit_;
    std::atomic<bool> waits_{true}, stalled_{false}, failing_{false}, leaving_{false}, left_{false},
        ended_{false};
    std::atomic<std::uint64_t> operations_{0};
    std::atomic<int> answer_{Sign::alive}, speaker_{-1}, code_{0};
    std::string stall_;  ///< what to say; written before stalled_

    // The thread's own.
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1, gone_ = 0;
    std::string host_;
    std::unique_ptr<Presence> presence_;
    std::vector<Line> lines_;
    Sign in_{};
    MPI_Request receiving_ = MPI_REQUEST_NULL;
    double since_sign_ = 1e9;

    std::mutex sleep_;
    std::condition_variable wake_;
    bool hurried_ = false;
    std::thread thread_;  // last: it uses all the others
};

}  // namespace holdfast
