#include "models/nets/public_model.hpp"

#include <fstream>

#include "dist/files/atomic_file.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

StoredModel PublicModel::read() const {
    StoredModel stored = read_model(path);
    if (!digest.empty() && stored.digest != digest)
        throw Error(ExitCode::input,
                    "is model " + stored.digest.substr(0, 16) + ", where " + digest_key + " says " +
                        digest.substr(0, 16),
                    "put back the model that was meant, or leave " + digest_key + " empty", path);
    return stored;
}

void PublicModel::copy_to(const std::string& copy) const {
    AtomicPath guard(copy);
    std::ofstream(guard.temporary(), std::ios::binary) << std::ifstream(path, std::ios::binary).rdbuf();
    PublicModel{guard.temporary(), digest, digest_key}.read();  // whole, and the one that is meant
    guard.commit();
}

}  // namespace holdfast
