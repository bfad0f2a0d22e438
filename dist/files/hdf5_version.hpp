#pragma once

#include <string>

namespace holdfast {

/// Version of the HDF5 library that is loaded, such as "1.10.8".
std::string hdf5_library_version();

/// Opens the HDF5 library, without its own printing and without filters from files, for the life of the
/// process. The library has no clean-up at exit: Handle closes everything, and the clean-up crashes over a
/// file that a full disk kept open. A parallel HDF5 calls MPI here, so MpiSession calls this under its lock.
void start_hdf5();

}  // namespace holdfast
