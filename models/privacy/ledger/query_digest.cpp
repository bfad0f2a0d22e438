#include "models/privacy/ledger/query_digest.hpp"

#include <sodium.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {

void start_sodium() {
    if (sodium_init() < 0) {
        throw Error(ExitCode::internal, "libsodium cannot start",
                    "check that the machine offers getrandom or /dev/urandom");
    }
}

Digest query_digest(std::span<const double> features) {
    start_sodium();
    std::vector<unsigned char> bytes;
    bytes.reserve(8 * features.size() + 8);
    const auto append = [&](std::uint64_t word) {
        for (int shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<unsigned char>(word >> shift));
    };
    append(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
        if (!std::isfinite(features[i])) {
            throw Error(ExitCode::input, "a query with NaN or infinity", "remove or fill it",
                        "feature " + std::to_string(i));
        }
        append(features[i] == 0 ? 0 : std::bit_cast<std::uint64_t>(features[i]));
    }
    Digest digest;
    crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(), bytes.data(),
                       bytes.size(), nullptr, 0);
    return digest;
}

Digest bag_digest(const std::string& how, std::span<const Digest> queries) {
    start_sodium();
    std::string bytes = "bag by " + how + "\n";  // no query's begins so: its number of features is below 2^48
    for (const Digest& query : queries)
        bytes.append(reinterpret_cast<const char*>(query.data()), query.size());
    Digest digest;
    crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    return digest;
}

}  // namespace holdfast
