#include "models/privacy/mechanisms/mechanism_list.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/text.hpp"

namespace holdfast {

// Each in the file of its name. To add a mechanism: write its file, declare it here and give it its place.
namespace mechanisms {
extern const MechanismInfo stable_rr, stable_gauss, class_exponential, permute_and_flip, cauchy,
    laplace_global, laplace_smooth, ptr, noisy_argmax, gaussian_argmax, confident_argmax, one_record_rr,
    unanimous_rr, idp_exponential, paper_sparse;
}

std::span<const MechanismInfo> mechanism_table() {
    using namespace mechanisms;
    static const MechanismInfo table[] = {stable_rr,    stable_gauss,    class_exponential, permute_and_flip,
                                          cauchy,       laplace_global,  laplace_smooth,    ptr,
                                          noisy_argmax, gaussian_argmax, confident_argmax,  one_record_rr,
                                          unanimous_rr, idp_exponential, paper_sparse};
    return table;
}

namespace {

/// "a, b or c"
std::string either_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    return text;
}

/// The releasable mechanisms of which `suits` holds, for a hint.
template <typename Suits>
std::string those(Suits suits) {
    std::vector<std::string> names;
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.releasable() && !info.needs_leave_one_out && suits(info)) names.emplace_back(info.name);
    }
    return either_of(names);
}

std::string or_the_default() {
    return std::string(", or choose ") + default_mechanism().name;
}

}  // namespace

Error bad_option(const char* option, const std::string& message, const std::string& hint) {
    return Error(ExitCode::usage, message, hint, option);
}

const MechanismInfo& default_mechanism() {
    return mechanism_table().front();
}

const MechanismInfo& mechanism_info(const std::string& name) {
    const std::span<const MechanismInfo> table = mechanism_table();
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const MechanismInfo& info) { return name == info.name; });
    if (found != table.end()) return *found;
    throw bad_option("mechanism", "unknown mechanism \"" + name + "\"",
                     "choose one of " + joined(table, ", ", &MechanismInfo::name));
}

std::string mechanism_help() {
    std::string text;
    for (const MechanismInfo& info : mechanism_table()) {
        std::string name = info.name;
        name.resize(18, ' ');
        text += "  " + name + info.law;
        if (info.needs_delta) text += "; needs delta";
        if (info.takes_delta && !info.needs_delta) text += "; delta optional";
        if (info.binary_only) text += "; two classes";
        if (info.needs_votes) text += "; ensembles";
        if (info.needs_leave_one_out) text += "; holdfast access";
        if (!info.releasable()) text += "; not differentially private, for evaluate only";
        text += "\n";
    }
    return text;
}

std::optional<Error> misfit(const MechanismInfo& info, const AvailableEvidence& available) {
    const std::string name = info.name;
    if (info.binary_only && available.classes > 2) {
        return bad_option(
            "mechanism",
            name + " is a mechanism for two classes, and there are " + std::to_string(available.classes),
            "choose " + those([](const MechanismInfo& other) { return !other.binary_only; }));
    }
    if (info.needs_votes && !available.votes) {
        return bad_option("mechanism", name + " adds noise to votes, and there is one model only",
                          "train an ensemble" + or_the_default());
    }
    if (info.needs_class_distances && !available.class_distances) {
        return bad_option("mechanism", name + " wants distances that this run's ensemble has not",
                          "train with ensemble.aggregate = \"stable\"" + or_the_default());
    }
    if (info.needs_leave_one_out && !available.leave_one_out) {
        return bad_option("mechanism",
                          name + " asks what leaving a record out changes, which boxes alone do not say",
                          "ask a leave-one-out fleet by holdfast access" + or_the_default());
    }
    if (info.needs_sparse_levels && !available.sparse_levels) {
        return bad_option("mechanism", name + " speaks of sparse lists of levels, and this run has them all",
                          std::string("choose ") + default_mechanism().name);
    }
    return std::nullopt;
}

void check_delta(const MechanismInfo& info, double delta) {
    const std::string name = info.name;
    if (delta > 0 && !info.takes_delta) {
        throw bad_option("delta", name + " is pure and takes no delta",
                         "leave delta out or choose " +
                             those([](const MechanismInfo& other) { return other.takes_delta; }));
    }
    if (delta == 0 && info.needs_delta) {
        throw bad_option("delta", name + " needs delta > 0", "add a delta such as 1e-6" + or_the_default());
    }
}

void check_releasable(const MechanismInfo& info) {
    if (info.releasable()) return;
    throw bad_option("mechanism",
                     std::string(info.name) + " is not differentially private: nothing is released by it",
                     std::string("choose ") + default_mechanism().name +
                         " or another of holdfast release --help; evaluate shows what this one would do");
}

}  // namespace holdfast
