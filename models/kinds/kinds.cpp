#include "models/kinds/kinds.hpp"

#include "kernels/base/error.hpp"
#include "models/boxes/boxes_training.hpp"
#include "models/certify/boxes_certificate.hpp"

namespace holdfast {

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {"boxes", train_boxes, certificate_claim, open_boxes, publication_of_boxes}};
    return all;
}

const Kind& kind_named(const std::string& name) {
    std::string known;
    for (const Kind& kind : kinds()) {
        if (kind.name == name) return kind;
        known += (known.empty() ? "" : ", ") + kind.name;
    }
    throw Error(ExitCode::input, "a run of kind \"" + name + "\"; this program knows " + known,
                "open it with the program that wrote it");
}

}  // namespace holdfast
