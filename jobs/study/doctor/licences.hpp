#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace holdfast {

/// What this program is linked with or made of, and under which terms its authors give it.
struct LinkedLibrary {
    std::string name;
    std::string found_as;  ///< the name that CMake looks for it by; empty: the compiler brings it
    std::string
        files;  ///< how the names of its shared libraries begin, apart by blanks; empty: headers alone
    std::string version;  ///< as built; empty where nothing says it
    std::string licence;  ///< identifiers of SPDX
    std::string purpose;
};

/// Of this build: those of GPUs only where it has them.
std::vector<LinkedLibrary> linked_libraries();

/// One line a library.
std::string licences_text(const std::vector<LinkedLibrary>& libraries);
/// {"libraries": [{"name", "found_as", "files", "version", "licence", "purpose"}, …]}
nlohmann::json licences_json(const std::vector<LinkedLibrary>& libraries);

}  // namespace holdfast
