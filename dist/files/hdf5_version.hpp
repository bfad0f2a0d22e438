#pragma once

#include <string>

namespace holdfast {

/// Version of the HDF5 library that is loaded, such as "1.10.8".
std::string hdf5_library_version();

}  // namespace holdfast
