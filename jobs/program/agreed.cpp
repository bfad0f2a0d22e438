#include "jobs/program/agreed.hpp"

#include <cstring>

namespace holdfast {

std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen) {
    std::vector<std::byte> bytes(chosen.size_bytes());
    std::memcpy(bytes.data(), chosen.data(), bytes.size());
    world.broadcast(bytes, 0);
    std::vector<std::size_t> list(bytes.size() / sizeof(std::size_t));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
}

}  // namespace holdfast
