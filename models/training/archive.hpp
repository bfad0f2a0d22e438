#pragma once

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/vector.hpp>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {

/// The bytes of a training's state: for checkpoints and messages of the same job.
template <typename State>
std::vector<std::byte> archived(const State& state) {
    std::ostringstream stream(std::ios::binary);
    boost::archive::binary_oarchive archive(stream);
    archive << state;
    const std::string text = stream.str();
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

/// Error (input): damaged.
template <typename State>
State from_archive(std::span<const std::byte> bytes) {
    State state;
    try {
        std::istringstream stream(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  std::ios::binary);
        boost::archive::binary_iarchive archive(stream);
        archive >> state;
    } catch (const boost::archive::archive_exception& error) {
        throw Error(ExitCode::input, std::string("a training state cannot be read: ") + error.what(),
                    "it was written by another version: train again");
    }
    return state;
}

}  // namespace holdfast
