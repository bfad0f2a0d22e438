#include "dist/files/hdf5_version.hpp"

#include <hdf5.h>

#include "kernels/base/error.hpp"

namespace holdfast {

std::string hdf5_library_version() {
    unsigned major = 0, minor = 0, release = 0;
    ensure(H5get_libversion(&major, &minor, &release) >= 0, "HDF5 knows its version");
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

void start_hdf5() {
    H5dont_atexit();  // fails when called again, which is as good
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
}

}  // namespace holdfast
