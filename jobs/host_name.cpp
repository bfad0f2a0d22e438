#include "jobs/host_name.hpp"

#include <unistd.h>

#include <array>
#include <span>

namespace holdfast {

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::vector<std::string> host_names(const Communicator& world) {
    const std::string mine = host_name();
    std::vector<std::string> names;
    for (const std::vector<std::byte>& bytes : world.all_gather(std::as_bytes(std::span(mine))))
        names.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return names;
}

}  // namespace holdfast
