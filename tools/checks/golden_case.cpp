#include "tools/checks/golden_case.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "dist/files/hdf5.hpp"
#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"

namespace holdfast {
namespace {

using Parameters = std::vector<double>;  // [parameters], in the order of Network

struct Case {
    hdf5::File file;
    Settings settings;
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::vector<std::int64_t> levels;  // k of each box
};

/// What the cases that clip nothing are clipped to.
constexpr double beyond_every_gradient = 64;

double number(const hdf5::File& file, const std::string& name, double fallback) {
    if (!file.has_attribute(name)) return fallback;
    return file.read_double_attribute(name);
}

std::string unsupported(const hdf5::File& file) {
    const auto text = [&](const char* name, const char* fallback) {
        return file.has_attribute(name) ? file.read_text_attribute(name) : std::string(fallback);
    };
    for (const auto& layer : nlohmann::json::parse(text("arch", "[]"))) {
        if (layer["type"] != "linear" && layer["type"] != "relu")
            return "layer " + layer["type"].get<std::string>();
        if (layer["type"] == "linear" && !layer["bias"].get<bool>()) return "layers without bias";
    }
    if (text("interval_matmul", "rump") == "nguyen") return "product nguyen";
    if (text("clip_method", "clamp") != "clamp") return "clip by norm";
    if (text("optimizer", "SGD") != "SGD" && text("optimizer", "") != "SGDM")
        return "optimiser " + text("optimizer", "");
    if (file.has("X_public")) return "public records in batches of their own";
    if (file.has_attribute("transform_arch")) return "frozen transform";
    return "";
}

/// The adversary of a poisoning case, and the level it is: the features of some records and the labels of
/// some others (no recorded case is of the same ones), which are bounded alike.
std::int64_t read_poison(const hdf5::File& file, Settings& settings) {
    settings.certificate.relation = Relation::poison;
    Poison& poison = settings.poison;
    poison.input_radius = number(file, "epsilon", 0);
    poison.target_radius = number(file, "label_epsilon", 0);
    const double features = number(file, "k_poison", 0), labels = number(file, "label_k_poison", 0),
                 target = number(file, "poison_target_idx", -1);
    if (labels > 0 && settings.network.classes > 1)
        poison.labels = target < 0 ? Poison::Labels::any : Poison::Labels::targeted;
    poison.target_label = static_cast<std::int32_t>(std::max(target, 0.0));
    return static_cast<std::int64_t>(features + labels);
}

Case open_case(hdf5::File file) {
    Case golden;
    Settings& settings = golden.settings;
    settings.network.hidden.clear();
    for (const auto& layer : nlohmann::json::parse(file.read_text_attribute("arch"))) {
        if (layer["type"] != "linear") continue;
        if (golden.inputs == 0) golden.inputs = layer["inp"];
        settings.network.hidden.push_back(layer["out"]);
    }
    golden.outputs = static_cast<std::size_t>(settings.network.hidden.back());
    settings.network.hidden.pop_back();
    const bool numbers = file.read_text_attribute("loss") == "mse";
    settings.network.loss = numbers ? "squared_error" : file.read_text_attribute("loss");
    settings.network.classes =
        numbers ? 1 : static_cast<std::int64_t>(std::max<std::size_t>(2, golden.outputs));
    settings.training.learning_rate = number(file, "learning_rate", 1);
    settings.training.learning_rate_decay = number(file, "lr_decay", 0);
    settings.training.learning_rate_floor = number(file, "lr_min", 0);
    settings.training.l2 = number(file, "l2_reg", 0);
    settings.training.l1 = number(file, "l1_reg", 0);
    settings.training.l1_step = L1Step::sign;
    if (file.has_attribute("optimizer") && file.read_text_attribute("optimizer") == "SGDM") {
        settings.training.momentum = number(file, "momentum", 0);
        settings.training.dampening = number(file, "dampening", 0);
        settings.training.nesterov = file.read_int64_attribute("nesterov") != 0;
    }
    settings.training.epochs = static_cast<std::int64_t>(number(file, "n_epochs", 1));
    settings.training.batching = Batching::sequential;
    settings.training.batch_size = static_cast<std::int64_t>(number(file, "batchsize", 1));
    settings.training.normalise = Normalise::actual;
    settings.certificate.charge_rule = ChargeRule::per_batch;
    settings.clip = {.kind = Clip::Kind::elementwise,
                     .gamma = std::min(number(file, "clip_gamma", 1), beyond_every_gradient)};
    settings.certificate.product =
        file.read_text_attribute("interval_matmul") == "exact" ? Product::exact : Product::rump;
    const auto unlearn = static_cast<std::int64_t>(number(file, "k_unlearn", 0));
    settings.certificate.relation = unlearn > 0 ? Relation::remove : Relation::substitute;
    if (file.has("k_list")) {
        golden.levels = file.dataset("k_list").read_all<std::int64_t>();
    } else if (file.has_attribute("mode") && file.read_text_attribute("mode") == "poisoning") {
        golden.levels = {read_poison(file, settings)};
    } else {
        golden.levels = {unlearn > 0 ? unlearn : static_cast<std::int64_t>(number(file, "k_private", 0))};
    }
    settings.certificate.level_list = golden.levels;
    golden.file = std::move(file);
    return golden;
}

Records read_records(const hdf5::File& file, bool numbers, const std::string& x, const std::string& y) {
    const hdf5::Dataset features = file.dataset(x);
    Records records{FeatureMatrix(features.shape()[1], true), {}, {}, {}};
    records.features.wide_values() = features.read_all<double>();
    if (numbers) records.targets = file.dataset(y).read_all<double>();
    for (const std::int64_t label :
         numbers ? std::vector<std::int64_t>{} : file.dataset(y).read_all<std::int64_t>())
        records.labels.push_back(static_cast<std::int32_t>(label));
    for (std::uint64_t row = 0; row < records.features.rows(); ++row) {
        records.ids.push_back(row);
        records.rows.push_back(row);
    }
    return records;
}

/// group/p0 [out, in], group/p1 [out], … in the order of Network: rows with the bias last.
std::optional<Parameters> read_parameters(const Case& golden, const Network& network,
                                          const std::string& group) {
    if (!golden.file.has(group + "/p0")) return std::nullopt;
    Parameters values;
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        const auto weights = golden.file.dataset(group + "/p" + std::to_string(2 * l)).read_all<double>();
        const auto biases = golden.file.dataset(group + "/p" + std::to_string(2 * l + 1)).read_all<double>();
        const std::size_t in = network.layers()[l].in;
        for (std::size_t o = 0; o < biases.size(); ++o) {
            values.insert(values.end(), weights.begin() + static_cast<std::ptrdiff_t>(o * in),
                          weights.begin() + static_cast<std::ptrdiff_t>((o + 1) * in));
            values.push_back(biases[o]);
        }
    }
    return values;
}

double largest_difference(const std::optional<Parameters>& theirs, const std::vector<std::int64_t>& ours) {
    double largest = 0;
    for (std::size_t p = 0; theirs && p < ours.size(); ++p)
        largest = std::max(largest, std::abs((*theirs)[p] - parameter_value(ours[p])));
    return largest;
}

void compare_level(const Case& golden, const Network& network, const std::string& group,
                   const LevelState& box, GoldenComparison& result) {
    result.lower =
        std::max(result.lower, largest_difference(read_parameters(golden, network, group + "/l"), box.lower));
    result.upper =
        std::max(result.upper, largest_difference(read_parameters(golden, network, group + "/u"), box.upper));
}

void check_enclosed(const std::optional<Parameters>& theirs, const LevelState& nominal, const LevelState& box,
                    GoldenComparison& result) {
    for (std::size_t p = 0; p < box.lower.size(); ++p) {
        result.enclosed &= box.lower[p] <= nominal.lower[p] && nominal.lower[p] <= box.upper[p];
        // Their nominal run rounds differently; with a degenerate box it is off by that rounding.
        if (theirs && box.lower[p] < box.upper[p])
            result.enclosed &= parameter_value(box.lower[p]) <= (*theirs)[p] &&
                               (*theirs)[p] <= parameter_value(box.upper[p]);
    }
}

/// The package's rule: one logit: its sign; several: the lower softmax bound of the best class above every
/// other's upper.
bool certified_by_their_rule(std::size_t outputs, const double* lower, const double* upper, double& margin) {
    if (outputs == 1) {
        margin = std::min(std::abs(lower[0]), std::abs(upper[0]));
        return (lower[0] > 0) == (upper[0] > 0);
    }
    const auto probability = [&](std::size_t c, const double* own, const double* others) {
        double sum = 1;
        for (std::size_t j = 0; j < outputs; ++j) sum += j == c ? 0 : std::exp(others[j] - own[c]);
        return 1 / sum;
    };
    std::size_t best = 0;
    for (std::size_t c = 1; c < outputs; ++c)
        best = probability(c, lower, upper) > probability(best, lower, upper) ? c : best;
    margin = 1;
    bool certified = true;
    for (std::size_t c = 0; c < outputs; ++c) {
        if (c == best) continue;
        const double gap = probability(best, lower, upper) - probability(c, upper, lower);
        certified &= gap > 0;
        margin = std::min(margin, std::abs(gap));
    }
    return certified;
}

void compare_predictions(const Case& golden, const Network& network, const Backend& backend,
                         const LevelState& box, std::size_t level_index, GoldenComparison& result) {
    const std::string group = golden.file.has("k_list") ? "" : "test/";
    const bool sweep = group.empty();
    if (!golden.file.has(group + "logit_l")) return;
    const Records queries = read_records(golden.file, network.is_regression(), "X_test", "y_test");
    const auto slab = [&](const std::string& name) {
        auto values = golden.file.dataset(group + name).read_all<double>();
        const std::size_t size = queries.size() * golden.outputs;
        return sweep ? std::vector<double>(
                           values.begin() + static_cast<std::ptrdiff_t>(level_index * size),
                           values.begin() + static_cast<std::ptrdiff_t>((level_index + 1) * size))
                     : values;
    };
    const std::vector<double> lower = slab("logit_l"), upper = slab("logit_u");
    std::vector<std::uint8_t> certified = golden.file.dataset(group + "certified").read_all<std::uint8_t>();
    if (sweep)
        certified.erase(certified.begin(),
                        certified.begin() + static_cast<std::ptrdiff_t>(level_index * queries.size()));
    const auto engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{queries.view()});
    std::vector<std::uint32_t> indices(queries.size());
    std::iota(indices.begin(), indices.end(), 0);
    const std::size_t last = network.offset(network.layers().size() - 1);
    const Variant parameters{box.lower.data(), box.upper.data()};
    const LastLayer logits{golden.outputs, box.lower.data() + last, box.upper.data() + last};
    std::mutex mutex;  // blocks come from several threads
    engine->outputs(parameters, logits, indices, [&](const OutputBlock& block) {
        const std::lock_guard lock(mutex);
        for (std::size_t r = 0; r < block.count; ++r) {
            std::vector<double> low, high;
            for (std::size_t c = 0; c < golden.outputs; ++c) {
                const std::size_t at = (block.first + r) * golden.outputs + c;
                low.push_back(block.lower[c * block.stride + r]);
                high.push_back(block.upper[c * block.stride + r]);
                result.logits = std::max(
                    {result.logits, std::abs(low.back() - lower[at]), std::abs(high.back() - upper[at])});
            }
            if (network.is_regression()) continue;  // no labels, so no mask
            double margin = 0;
            const bool ours = certified_by_their_rule(golden.outputs, low.data(), high.data(), margin);
            result.certified_mismatches += margin >= 1e-9 && ours != (certified[block.first + r] != 0);
        }
    });
}

}  // namespace

GoldenComparison replay_golden_case(const std::string& path) {
    GoldenComparison result;
    result.name = std::filesystem::path(path).stem();
    hdf5::File file = hdf5::File::open_read(path);
    result.unsupported = unsupported(file);
    if (!result.unsupported.empty()) return result;
    Case golden = open_case(std::move(file));
    Records records = read_records(golden.file, golden.settings.network.classes == 1, "X", "y");
    // A batch of another size than the first is skipped, every epoch.
    golden.settings.training.batches =
        static_cast<std::int64_t>(records.size()) / golden.settings.training.batch_size;

    const auto backend =
        make_backend("auto", Precision::double_precision, golden.settings.certificate.product);
    const TrainingPlan plan = make_plan(golden.settings, {.features = golden.inputs}, backend);
    const Parameters theirs = read_parameters(golden, plan.network, "init").value();
    std::vector<std::int64_t> initial(theirs.size());
    std::transform(theirs.begin(), theirs.end(), initial.begin(),
                   [](double value) { return parameter_units(value); });
    MemberState state = MemberTrainer::state_at(plan, 0, initial);
    const Records no_public{FeatureMatrix(golden.inputs, true), {}, {}, {}};
    MemberTrainer trainer(plan, std::move(records), no_public, std::move(state));
    const auto alone = make_serial_communicator();
    while (!trainer.done()) {
        const std::string step = "trace/step" + std::to_string(trainer.state().step);
        trainer.step(*alone);
        if (golden.levels.size() == 1)
            compare_level(golden, plan.network, step, trainer.box(plan.levels.size() - 1), result);
        result.nominal = std::max(
            result.nominal,
            largest_difference(read_parameters(golden, plan.network, step + "/n"), trainer.box(0).lower));
    }
    const auto panels =
        make_backend(golden.settings.certificate.product == Product::rump ? "reference" : "cpu",
                     Precision::double_precision, golden.settings.certificate.product);
    const bool sweep = golden.file.has("k_list");
    const auto final_nominal = read_parameters(golden, plan.network, sweep ? "final_n" : "final/n");
    result.nominal = std::max(result.nominal, largest_difference(final_nominal, trainer.box(0).lower));
    for (std::size_t index = 0; index < golden.levels.size(); ++index) {
        // Level 0 is always there; k = 0 is it.
        const LevelState box = trainer.box(golden.levels[index] == 0 ? 0 : index + 1);
        compare_level(golden, plan.network,
                      sweep ? "final_k" + std::to_string(golden.levels[index]) : "final", box, result);
        check_enclosed(final_nominal, trainer.box(0), box, result);
        compare_predictions(golden, plan.network, *panels, box, index, result);
    }
    return result;
}

}  // namespace holdfast
