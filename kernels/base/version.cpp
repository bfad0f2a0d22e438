#include "kernels/base/version.hpp"

namespace holdfast {

const char* version() {
    return HOLDFAST_VERSION;
}

}  // namespace holdfast
