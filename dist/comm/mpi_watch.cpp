#include "dist/comm/mpi_watch.hpp"

#include <pthread.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "dist/comm/communicator.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds between_looks{50};
constexpr const char* stall_hint =
    "a host, a process or the link between them is lost or stopped: see there, then --resume; "
    "run.stall_seconds waits longer";

std::string standing_still(double seconds) {
    return printed("no rank got any further for %g s", seconds);
}

/// A thread that signals pass by: the program's own takes them.
template <typename Run>
std::thread without_signals(Run run) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(run);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace

void check_mpi(int status, const char* operation) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw Error(ExitCode::communication, std::string(operation) + " failed: " + text.data(),
                "a rank may have died: see its log, then --resume", "MPI");
}

MpiWatch::MpiWatch() : limit_(default_stall_seconds), thread_(without_signals([this] { run(); })) {}

MpiWatch::~MpiWatch() {
    ended_ = true;
    hurry();
    thread_.join();
}

void MpiWatch::start(MPI_Comm world) {
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(world, &comm), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    host_ = name.data();
    presence_ = std::make_unique<Presence>(size_);
    if (rank_ > 0) lines_.push_back({0});
    for (int rank = 1; rank_ == 0 && rank < size_; ++rank) lines_.push_back({rank});
    comm_ = comm;
    waits_ = false;
}

void MpiWatch::throw_if_stalled() const {
    if (stalled_) throw Error(ExitCode::communication, stall_, stall_hint, "MPI");
}

bool MpiWatch::may_speak() {
    using std::chrono::milliseconds;
    int nobody = -1;
    if (rank_ == 0) return speaker_.compare_exchange_strong(nobody, 0) || nobody == 0;
    failing_ = true;
    hurry();
    for (int i = 0; i < 300 && answer_ == Sign::alive && !stalled_; ++i)
        std::this_thread::sleep_for(milliseconds(10));
    if (answer_ != Sign::alive) return answer_ == Sign::speak;
    // Rank 0 is lost: the first of the others says it and ends the rest.
    std::this_thread::sleep_for(milliseconds(std::min(100 * (rank_ - 1), 2000)));
    return true;
}

void MpiWatch::leave() {
    leaving_ = true;
    hurry();
}

void MpiWatch::expect_end(int code) {
    code_ = code;
    limit_ = 10;
}

void MpiWatch::hurry() {
    const std::lock_guard hold(sleep_);
    hurried_ = true;
    wake_.notify_one();
}

void MpiWatch::run() {
    double kept_out = 0;
    auto seen = std::chrono::steady_clock::now();
    while (!ended_) {
        {
            std::unique_lock hold(sleep_);
            wake_.wait_for(hold, between_looks, [&] { return hurried_; });
            hurried_ = false;
        }
        const std::unique_lock lock(calls_, between_looks);
        const auto now = std::chrono::steady_clock::now();
        const double passed = std::min<Seconds>(now - seen, 3 * between_looks).count();
        seen = now;
        kept_out = lock.owns_lock() ? 0 : kept_out + passed;
        if (lock.owns_lock() && comm_ != MPI_COMM_NULL && !left_) look(passed);
        // No wait of the program's own takes place inside MPI: what does not come out of it is lost there.
        if (const double limit = limit_; limit > 0 && kept_out > limit) {
            if (const int code = code_; code != 0) std::_Exit(code);
            const Error error(ExitCode::communication, standing_still(limit) + ": a call of MPI hangs",
                              stall_hint, "MPI");
            std::cerr << std::string("holdfast: ") + error.what() + "\n" << std::flush;
            std::_Exit(static_cast<int>(error.code()));
        }
    }
}

void MpiWatch::look(double passed) {
    const double limit = limit_;
    try {
        presence_->pass(passed);
        presence_->hear(rank_, own(Sign::alive));
        receive();
        since_sign_ += passed;
        if (since_sign_ > (limit > 0 ? std::clamp(limit / 20, 0.05, 5.0) : 5.0)) {
            since_sign_ = 0;
            for (Line& line : lines_) line.due = true;
        }
        if (failing_.exchange(false)) lines_.front().next = Sign::failed;
        const bool all_others_gone = gone_ == size_ - 1;
        if (leaving_ && (rank_ > 0 || all_others_gone)) {
            leaving_ = false;
            for (Line& line : lines_) line.next = Sign::leaving;
            if (rank_ == 0) gone_ = size_;
        }
        send();
        // Everyone's last sign is there, and rank 0's own are under way.
        const bool sent = std::all_of(lines_.begin(), lines_.end(), [](const Line& line) {
            return line.sending == MPI_REQUEST_NULL && line.next == Sign::alive;
        });
        if (gone_ == size_ && sent) left_ = true;
    } catch (const Error& error) {
        stall_ = error.message();
        stalled_ = true;
        left_ = true;  // this thread's part is over
        return;
    }
    if (limit <= 0 || presence_->still() <= limit || stalled_) return;
    // The others hear of rank 0 alone, and leave to it what it is still there to see.
    const std::string who = rank_ == 0 ? presence_->missing() : presence_->name(0);
    stall_ = standing_still(limit) + (who.empty() ? ": every rank is there and waits for another"
                                                  : ", and no sign of life comes from " + who);
    stalled_ = true;
}

void MpiWatch::receive() {
    while (gone_ < (rank_ == 0 ? size_ - 1 : size_)) {
        if (receiving_ == MPI_REQUEST_NULL)
            check_mpi(
                MPI_Irecv(&in_, sizeof in_, MPI_BYTE, rank_ == 0 ? MPI_ANY_SOURCE : 0, 0, comm_, &receiving_),
                "MPI_Irecv");
        int done = 0;
        MPI_Status status;
        check_mpi(MPI_Test(&receiving_, &done, &status), "MPI_Test");
        if (done == 0) return;
        take(status.MPI_SOURCE, in_);
    }
}

void MpiWatch::take(int from, const Sign& sign) {
    presence_->hear(from, sign);
    if (rank_ > 0) presence_->progress();
    if (sign.kind == Sign::leaving) gone_ = rank_ == 0 ? gone_ + 1 : size_;
    if (sign.kind == Sign::speak || sign.kind == Sign::silence) answer_ = sign.kind;
    if (sign.kind == Sign::failed) {
        int nobody = -1;
        lines_[from - 1].next = speaker_.compare_exchange_strong(nobody, from) ? Sign::speak : Sign::silence;
    }
}

void MpiWatch::send() {
    for (Line& line : lines_) {
        if (line.sending != MPI_REQUEST_NULL) {
            int done = 0;
            check_mpi(MPI_Test(&line.sending, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done == 0) continue;
        }
        const bool last_is_out = line.out.kind == Sign::leaving;
        if (last_is_out || (!line.due && line.next == Sign::alive)) continue;
        line.out = own(line.next);
        line.next = Sign::alive;
        line.due = false;
        check_mpi(MPI_Isend(&line.out, sizeof line.out, MPI_BYTE, line.to, 0, comm_, &line.sending),
                  "MPI_Isend");
    }
}

Sign MpiWatch::own(Sign::Kind kind) const {
    Sign sign;
    sign.kind = kind;
    sign.waits = waits_ ? 1 : 0;
    sign.operations = operations_;
    std::memcpy(sign.host, host_.data(), std::min(host_.size(), sizeof sign.host - 1));
    return sign;
}

}  // namespace holdfast
