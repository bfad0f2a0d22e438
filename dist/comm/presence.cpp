#include "dist/comm/presence.hpp"

namespace holdfast {

void Presence::pass(double seconds) {
    still_ += seconds;
    for (Rank& rank : ranks_) rank.silent += seconds;
}

void Presence::hear(std::size_t rank, const Sign& sign) {
    Rank& heard = ranks_[rank];
    if (sign.waits == 0 || sign.operations != heard.last.operations) still_ = 0;
    heard.silent = 0;
    heard.last = sign;
}

std::string Presence::name(std::size_t rank) const {
    const std::string host = ranks_[rank].last.host;
    return "rank " + std::to_string(rank) + (host.empty() ? "" : " (" + host + ")");
}

std::string Presence::missing() const {
    std::string names;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        // Who has left has said so, and says no more.
        if (ranks_[rank].last.kind == Sign::leaving || ranks_[rank].silent <= still_ / 2) continue;
        names += (names.empty() ? "" : ", ") + name(rank);
    }
    return names;
}

}  // namespace holdfast
