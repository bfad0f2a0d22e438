#pragma once

namespace holdfast {

/// The version of the program, as CMakeLists.txt states it for the project: "major.minor.patch".
const char* version();

}  // namespace holdfast
