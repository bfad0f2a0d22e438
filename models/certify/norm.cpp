#include "models/certify/norm.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

Norm norm_named(const std::string& name) {
    if (name == "linf") return Norm::linf;
    if (name == "l2") return Norm::l2;
    if (name == "l1") return Norm::l1;
    throw Error(ExitCode::usage, "no such norm: " + name, "give linf, l2 or l1", "--norm");
}

const char* distance_in(Norm norm) {
    switch (norm) {
        case Norm::linf:
            return "the largest difference of a feature";
        case Norm::l2:
            return "the length of the difference";
        case Norm::l1:
            return "the sum of the differences of all features";
    }
    return "";
}

}  // namespace holdfast
