#include "dist/comm/device_communicator.hpp"

#include <chrono>
#include <exception>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

class DeviceCommunicator final : public Communicator {
  public:
    DeviceCommunicator(const Communicator& host, std::shared_ptr<const CollectiveLibrary> library)
        : host_(host), library_(std::move(library)) {
        join();
    }
    DeviceCommunicator(std::unique_ptr<Communicator> host, std::shared_ptr<const CollectiveLibrary> library)
        : owned_host_(std::move(host)), host_(*owned_host_), library_(std::move(library)) {
        join();
    }
    DeviceCommunicator(const DeviceCommunicator&) = delete;
    DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

    /// While an error is on its way the other ranks may never come: nothing is waited for.
    ~DeviceCommunicator() override {
        if (group_ == nullptr) return;
        if (std::uncaught_exceptions() > 0 || group_->state().is != CollectiveState::Is::done) {
            group_->abort();
            return;
        }
        try {
            group_->finish();
            const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
            host_.await([&] {
                return group_->state().is != CollectiveState::Is::working ||
                       std::chrono::steady_clock::now() > late;
            });
            if (group_->state().is != CollectiveState::Is::done) group_->abort();
        } catch (const Error&) {
            group_->abort();  // every sum was waited for before: no result is lost
        }
    }

    int rank() const override { return host_.rank(); }
    int size() const override { return host_.size(); }
    std::string transport() const override { return library_->name(); }
    int local_rank() const override { return host_.local_rank(); }
    std::vector<int> machines() const override { return host_.machines(); }
    void await(const std::function<bool()>& done) const override { host_.await(done); }
    void give_up_after(double seconds) const override { host_.give_up_after(seconds); }
    void sum(std::span<std::int64_t> values) const override { host_.sum(values); }
    void min(std::span<std::int64_t> values) const override { host_.min(values); }
    void max(std::span<std::int64_t> values) const override { host_.max(values); }
    void barrier() const override { host_.barrier(); }
    void broadcast(std::vector<std::byte>& bytes, int root) const override { host_.broadcast(bytes, root); }
    std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) const override {
        return host_.all_gather(bytes);
    }
    std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& outgoing) const override {
        return host_.exchange(outgoing);
    }
    void send(std::span<const std::byte> bytes, int to) const override { host_.send(bytes, to); }
    std::vector<std::byte> receive(int from) const override { return host_.receive(from); }

    std::unique_ptr<Communicator> split(int colour) const override {
        return std::make_unique<DeviceCommunicator>(host_.split(colour), library_);
    }

    bool sums_on_device() const override { return true; }
    void sum(DeviceSpan values) const override {
        if (group_ == nullptr) return;
        group_->sum(values);
        wait_until_done([&] { return group_->state(); }, "the start of a sum");
    }
    void wait(void* stream) const override {
        if (group_ == nullptr) return;
        wait_until_done([&] { return group_->state(stream); }, "a sum");
    }

  private:
    void join() {
        if (host_.size() == 1) return;
        std::vector<std::byte> id;
        if (host_.is_root()) id = library_->new_id();
        host_.broadcast(id, 0);
        group_ = library_->join(id, host_.rank(), host_.size());
        wait_until_done([&] { return group_->state(); }, "the meeting of the ranks");
    }

    template <typename Look>
    void wait_until_done(Look look, const std::string& what) const {
        CollectiveState state;
        try {
            host_.await([&] { return (state = look()).is != CollectiveState::Is::working; });
        } catch (const Error&) {
            group_->abort();
            throw;
        }
        if (state.is == CollectiveState::Is::failed)
            give_up(what + " failed: " + state.what, "a rank or its GPU is lost: see its log, then --resume");
    }
    [[noreturn]] void give_up(const std::string& message, const std::string& remedy) const {
        group_->abort();
        throw Error(ExitCode::communication, message, remedy, library_->name());
    }

    std::unique_ptr<const Communicator> owned_host_;  // of a part
    const Communicator& host_;
    std::shared_ptr<const CollectiveLibrary> library_;
    std::unique_ptr<CollectiveGroup> group_;  // none for one rank alone
};

}  // namespace

std::unique_ptr<Communicator> make_device_communicator(const Communicator& host,
                                                       std::shared_ptr<const CollectiveLibrary> library) {
    return std::make_unique<DeviceCommunicator>(host, std::move(library));
}

}  // namespace holdfast
