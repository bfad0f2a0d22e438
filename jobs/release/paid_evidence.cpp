#include "jobs/release/paid_evidence.hpp"

#include <cstring>

#include "jobs/queries.hpp"

namespace holdfast {
namespace {

/// Rank 0's list, on all ranks. Collective.
std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen) {
    std::vector<std::byte> bytes(chosen.size_bytes());
    std::memcpy(bytes.data(), chosen.data(), bytes.size());
    world.broadcast(bytes, 0);
    std::vector<std::size_t> list(bytes.size() / sizeof(std::size_t));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
}

}  // namespace

std::vector<Evidence> PaidEvidence::of(std::span<const std::size_t> paid) const {
    const std::vector<Certificates> members = certificates(agreed(context_.world, paid));
    std::vector<Evidence> evidence;
    for (std::size_t q = 0; q < paid.size(); ++q) {
        evidence.push_back(members.size() > 1 ? evidence_of(run_, members, q)
                                              : evidence_of(run_, members.front(), q));
    }
    return evidence;
}

void PaidEvidence::help() const {
    for (;;) {
        const std::vector<std::size_t> paid = agreed(context_.world, {});
        if (paid.empty()) return;
        certificates(paid);
    }
}

void PaidEvidence::done() const {
    agreed(context_.world, {});
}

std::vector<Certificates> PaidEvidence::certificates(std::span<const std::size_t> paid) const {
    return certify_members(context_, run_, chosen_records(queries_, paid), Asker::release);
}

}  // namespace holdfast
