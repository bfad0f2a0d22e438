#pragma once

#include <sodium.h>
#include <sys/stat.h>

#include <string>

#include "models/privacy/noise/secret_key.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast::test {

/// What a key file holds: "holdkey", the version, 32 bytes, BLAKE2b-128 of all that.
inline std::string key_file_bytes(const std::string& key) {
    std::string bytes = std::string("holdkey\x01") + key;
    std::string checksum(16, '\0');
    crypto_generichash(reinterpret_cast<unsigned char*>(checksum.data()), checksum.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    return bytes + checksum;
}

/// The key of 32 given bytes, for tests only: the program knows fresh keys and those of its files.
inline SecretKey key_of_bytes(const std::string& bytes) {
    const TemporaryFolder folder;
    const std::string path = folder.write("key", key_file_bytes(bytes));
    chmod(path.c_str(), 0600);
    return SecretKey::read(path);
}

/// The same at every run.
inline SecretKey known_key(char seed) {
    std::string bytes(32, 'k');
    bytes.back() = seed;
    return key_of_bytes(bytes);
}

}  // namespace holdfast::test
