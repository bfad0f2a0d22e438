#include "models/boxes/state.hpp"

#include "models/training/archive.hpp"

namespace holdfast {

std::vector<std::byte> MemberState::packed() const {
    return archived(*this);
}

MemberState MemberState::unpacked(std::span<const std::byte> bytes) {
    return from_archive<MemberState>(bytes);
}

}  // namespace holdfast
