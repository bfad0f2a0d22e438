#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "dist/comm/communicator.hpp"
#include "dist/comm/mpi.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

class SerialCommunicator final : public Communicator {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::string transport() const override { return "serial"; }
    int local_rank() const override { return 0; }
    void sum(std::span<std::int64_t>) const override {}
    void min(std::span<std::int64_t>) const override {}
    void max(std::span<std::int64_t>) const override {}
    void barrier() const override {}
    void broadcast(std::vector<std::byte>&, int) const override {}
    std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) const override {
        return {{bytes.begin(), bytes.end()}};
    }
    std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& outgoing) const override {
        ensure(outgoing.size() == 1, "exchange has one message a rank");
        return outgoing;
    }
    void send(std::span<const std::byte>, int) const override { ensure(false, "a serial run sends nothing"); }
    std::vector<std::byte> receive(int) const override {
        ensure(false, "a serial run receives nothing");
        return {};
    }
    std::unique_ptr<Communicator> split(int) const override { return make_serial_communicator(); }
};

}  // namespace

// A step's sums take about a millisecond: who sleeps would miss them. Later on a hundredth of the time waited
// is lost at most, and a core is idle but for a few percent.
void Communicator::await(const std::function<bool()>& done) const {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    while (!done()) {
        const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
        if (waited < 10ms) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 100, 2ms));
        }
    }
}

bool launched_by_mpi() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
        if (std::getenv(name) != nullptr) return true;
    }
    return false;
}

std::unique_ptr<Communicator> make_serial_communicator() {
    return std::make_unique<SerialCommunicator>();
}

}  // namespace holdfast
