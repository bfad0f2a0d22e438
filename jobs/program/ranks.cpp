#include "jobs/program/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace holdfast {

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::vector<std::string> gathered_text(const Communicator& world, const std::string& mine) {
    std::vector<std::string> all;
    for (const std::vector<std::byte>& bytes : world.all_gather(std::as_bytes(std::span(mine))))
        all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return all;
}

std::vector<std::string> host_names(const Communicator& world) {
    return gathered_text(world, host_name());
}

std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen) {
    std::vector<std::byte> bytes(chosen.size_bytes());
    std::copy_n(reinterpret_cast<const std::byte*>(chosen.data()), bytes.size(), bytes.data());
    world.broadcast(bytes, 0);
    std::vector<std::size_t> list(bytes.size() / sizeof(std::size_t));
    std::copy_n(bytes.data(), list.size() * sizeof(std::size_t), reinterpret_cast<std::byte*>(list.data()));
    return list;
}

}  // namespace holdfast
