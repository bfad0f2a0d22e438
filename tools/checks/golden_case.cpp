#include "tools/checks/golden_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "dist/files/hdf5.hpp"
#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/loss_bounds.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/guarantee.hpp"

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
        const auto type = layer["type"].get<std::string>();
        if (type != "linear" && type != "conv2d" && type != "relu" && type != "flatten")
            return "layer " + type;
    }
    if (text("optimizer", "SGD") != "SGD" && text("optimizer", "") != "SGDM")
        return "optimiser " + text("optimizer", "");
    return "";
}

Product product_named(const std::string& name) {
    return name == "exact" ? Product::exact : name == "nguyen" ? Product::nguyen : Product::rump;
}

std::vector<std::uint64_t> tail_of(const hdf5::Shape& shape) {
    return {shape.begin() + 1, shape.end()};
}

/// group/p0 [out, in] (of a convolution [out, in, height, width]), group/p1 [out], … in the order of Network:
/// rows with the bias last, which is 0 where there is none. As many layers as the group has.
std::optional<Parameters> read_parameters(const hdf5::File& file, const std::vector<Layer>& layers,
                                          const std::string& group) {
    if (!file.has(group + "/p0")) return std::nullopt;
    Parameters values;
    std::size_t next = 0;
    const auto name = [&] { return group + "/p" + std::to_string(next); };
    for (const Layer& layer : layers) {
        if (!file.has(name())) break;
        const auto weights = file.dataset(name()).read_all<double>();
        ++next;
        const auto biases = layer.bias ? file.dataset(name()).read_all<double>() : Parameters(layer.out, 0.0);
        next += layer.bias ? 1 : 0;
        for (std::size_t o = 0; o < layer.out; ++o) {
            values.insert(values.end(), weights.begin() + static_cast<std::ptrdiff_t>(o * layer.in),
                          weights.begin() + static_cast<std::ptrdiff_t>((o + 1) * layer.in));
            values.push_back(biases[o]);
        }
    }
    return values;
}

/// As network.layers names it. Their strides, paddings and dilations are the same along both sides.
std::string layer_text(const nlohmann::json& layer) {
    const auto type = layer["type"].get<std::string>();
    if (type != "linear" && type != "conv2d") return type;
    const auto number = [](const nlohmann::json& value) { return std::to_string(value.get<std::int64_t>()); };
    std::string text = (type == "linear" ? "dense " : "conv ") + number(layer["out"]);
    if (type == "conv2d") {
        text += " " + number(layer["kernel"][0]) + "x" + number(layer["kernel"][1]);
        for (const char* word : {"stride", "padding", "dilation"})
            text += std::string(" ") + word + " " + number(layer[word][0]);
        text += " groups " + number(layer["groups"]);
    }
    return text + (layer["bias"].get<bool>() ? "" : " no_bias");
}

/// X is [records, features], or [records, channels, height, width].
std::size_t features_in(const hdf5::File& file) {
    std::size_t features = 1;
    for (const std::uint64_t side : tail_of(file.dataset("X").shape())) features *= side;
    return features;
}

std::vector<std::int64_t> image_in(const hdf5::File& file) {
    const std::vector<std::uint64_t> sides = tail_of(file.dataset("X").shape());
    return sides.size() == 3 ? std::vector<std::int64_t>(sides.begin(), sides.end())
                             : std::vector<std::int64_t>();
}

void set_layers(const nlohmann::json& arch, const std::vector<std::int64_t>& image,
                NetworkSettings& network) {
    bool dense = true;
    network.hidden.clear();
    network.bias = arch.back()["bias"];
    for (std::size_t i = 0; i + 1 < arch.size(); ++i) {
        network.layers.push_back(layer_text(arch[i]));
        dense &=
            arch[i]["type"] == "relu" || (arch[i]["type"] == "linear" && arch[i]["bias"] == network.bias);
        if (arch[i]["type"] == "linear") network.hidden.push_back(arch[i]["out"]);
    }
    if (dense) return network.layers.clear();
    network.image = image;
    network.hidden = NetworkSettings{}.hidden;
}

/// A public model of the frozen layers, as features.prefix takes it: what is behind them does not matter.
void write_transform(const hdf5::File& file, const std::string& path) {
    NetworkSettings settings;
    settings.image = image_in(file);
    for (const auto& layer : nlohmann::json::parse(file.read_text_attribute("transform_arch")))
        settings.layers.push_back(layer_text(layer));
    Model model{
        .network = settings.make(FeatureMap(features_in(file), {})),
        .parameters = {},
        .kind = "elsewhere",
        .program = {},
        .version = {},
        .guarantee = Guarantee::not_private("a recorded transform", "nothing is known of it").to_json(),
        .cost = {}};
    const Parameters frozen = read_parameters(file, model.network.layers(), "transform").value();
    std::transform(frozen.begin(), frozen.end(), std::back_inserter(model.parameters), parameter_units);
    model.parameters.resize(model.network.parameters(), 0);
    write_model(path, model);
}

/// The adversary of a poisoning case, and its level k: the number of records that the adversary changes.
/// Paired, the same records have features and labels changed; else other records have their labels changed.
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
    const bool paired =
        file.has_attribute("paired_poison") && file.read_int64_attribute("paired_poison") != 0;
    return static_cast<std::int64_t>(paired ? std::max(features, labels) : features + labels);
}

Case open_case(hdf5::File file) {
    Case golden;
    Settings& settings = golden.settings;
    const auto arch = nlohmann::json::parse(file.read_text_attribute("arch"));
    golden.inputs = features_in(file);
    golden.outputs = arch.back()["out"];
    set_layers(arch, image_in(file), settings.network);
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
    const double limit = number(file, "clip_gamma", 1);
    const bool clamps =
        !file.has_attribute("clip_method") || file.read_text_attribute("clip_method") == "clamp";
    settings.clip = {.kind = clamps ? Clip::Kind::elementwise : Clip::Kind::tensor_norm,
                     .gamma = std::min(limit, beyond_every_gradient),
                     .norm_limit = limit};
    settings.certificate.product = product_named(file.read_text_attribute("interval_matmul"));
    settings.training.public_batch_size = static_cast<std::int64_t>(number(file, "batchsize_public", 0));
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
    Records records{FeatureMatrix(features.size() / features.shape()[0], true), {}, {}, {}};
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

double largest_difference(const std::optional<Parameters>& theirs, const std::vector<std::int64_t>& ours) {
    double largest = 0;
    for (std::size_t p = 0; theirs && p < ours.size(); ++p)
        largest = std::max(largest, std::abs((*theirs)[p] - parameter_value(ours[p])));
    return largest;
}

/// Of bounds, the lower ones (sign 1) or the upper ones (-1); where ours may be tighter, by how much they lie
/// outside, and apart how far inside.
double bound_difference(const Case& golden, double theirs, double ours, int sign, GoldenComparison& result) {
    const double inside = sign * (ours - theirs);
    if (!golden.settings.clip.by_scales()) return std::abs(inside);
    result.tighter = std::max(result.tighter, inside);
    return std::max(0.0, -inside);
}

void compare_bounds(const Case& golden, const std::optional<Parameters>& theirs,
                    const std::vector<std::int64_t>& ours, int sign, double& largest,
                    GoldenComparison& result) {
    for (std::size_t p = 0; theirs && p < ours.size(); ++p)
        largest =
            std::max(largest, bound_difference(golden, (*theirs)[p], parameter_value(ours[p]), sign, result));
}

void compare_level(const Case& golden, const Network& network, const std::string& group,
                   const LevelState& box, GoldenComparison& result) {
    const auto theirs = [&](const char* end) {
        return read_parameters(golden.file, network.layers(), group + end);
    };
    compare_bounds(golden, theirs("/l"), box.lower, 1, result.lower, result);
    compare_bounds(golden, theirs("/u"), box.upper, -1, result.upper, result);
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

/// Their mean squared error over the box is a metric of the worst, the nominal and the best network.
void compare_losses(const Case& golden, const Network& network, const Backend& backend, const LevelState& box,
                    const Records& queries, GoldenComparison& result) {
    const auto theirs = golden.file.read_doubles_attribute("test_metric_l_n_u", 3);
    const OutputBounds bounds = OutputBounder(network, backend, queries).over(box.lower, box.upper);
    const LossBounds ours = mean_of(loss_bounds(network.loss(), bounds, queries.targets));
    result.logits =
        std::max({result.logits, std::abs(ours.worst - theirs[0]), std::abs(ours.best - theirs[2])});
    result.enclosed &= ours.best <= theirs[1] && theirs[1] <= ours.worst;
}

void compare_predictions(const Case& golden, const FeatureMap& features, const Network& network,
                         const Backend& backend, const LevelState& box, std::size_t level_index,
                         GoldenComparison& result) {
    const std::string group = golden.file.has("k_list") ? "" : "test/";
    const bool sweep = group.empty();
    if (!golden.file.has(group + "logit_l")) return;
    const Records queries = features(read_records(golden.file, network.is_regression(), "X_test", "y_test"));
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
    if (network.is_regression() && golden.file.has_attribute("test_metric_l_n_u"))
        compare_losses(golden, network, backend, box, queries, result);
    std::mutex mutex;  // blocks come from several threads
    engine->outputs(parameters, logits, indices, [&](const OutputBlock& block) {
        const std::lock_guard lock(mutex);
        for (std::size_t r = 0; r < block.count; ++r) {
            std::vector<double> low, high;
            for (std::size_t c = 0; c < golden.outputs; ++c) {
                const std::size_t at = (block.first + r) * golden.outputs + c;
                low.push_back(block.lower[c * block.stride + r]);
                high.push_back(block.upper[c * block.stride + r]);
                result.logits =
                    std::max({result.logits, bound_difference(golden, lower[at], low.back(), 1, result),
                              bound_difference(golden, upper[at], high.back(), -1, result)});
            }
            if (network.is_regression()) continue;  // no labels, so no mask
            double margin = 0;
            const bool ours = certified_by_their_rule(golden.outputs, low.data(), high.data(), margin);
            const bool theirs = certified[block.first + r] != 0, tighter = golden.settings.clip.by_scales();
            result.certified_mismatches += margin >= 1e-9 && ours != theirs && (theirs || !tighter);
        }
    });
}

/// Of a case with a frozen transform, as long as it lives.
class TransformFile {
  public:
    explicit TransformFile(Case& golden) {
        if (!golden.file.has_attribute("transform_arch")) return;
        path_ = std::filesystem::temp_directory_path() / ("transform-" + std::to_string(getpid()) + ".h5");
        write_transform(golden.file, path_);
        golden.settings.features.map = FeatureSettings::Map::prefix;
        golden.settings.features.prefix = path_;
    }
    TransformFile(const TransformFile&) = delete;
    TransformFile& operator=(const TransformFile&) = delete;
    ~TransformFile() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove(path_, ignored);
    }

  private:
    std::string path_;
};

}  // namespace

GoldenComparison replay_golden_case(const std::string& path) {
    GoldenComparison result;
    result.name = std::filesystem::path(path).stem();
    hdf5::File file = hdf5::File::open_read(path);
    result.unsupported = unsupported(file);
    if (!result.unsupported.empty()) return result;
    Case golden = open_case(std::move(file));
    Records records = read_records(golden.file, golden.settings.network.classes == 1, "X", "y");
    const TransformFile transform(golden);
    // A batch of another size than the first is skipped, every epoch.
    golden.settings.training.batches =
        static_cast<std::int64_t>(records.size()) / golden.settings.training.batch_size;

    const auto backend =
        make_backend("auto", Precision::double_precision, golden.settings.certificate.product);
    Records public_records =
        golden.file.has("X_public")
            ? read_records(golden.file, golden.settings.network.classes == 1, "X_public", "y_public")
            : Records{FeatureMatrix(golden.inputs, true), {}, {}, {}};
    const TrainingPlan plan = make_plan(
        golden.settings, {.features = golden.inputs, .public_records = public_records.size()}, backend);
    public_records = plan.features(std::move(public_records));
    const Parameters theirs = read_parameters(golden.file, plan.network.layers(), "init").value();
    std::vector<std::int64_t> initial(theirs.size());
    std::transform(theirs.begin(), theirs.end(), initial.begin(), parameter_units);
    MemberTrainer trainer(plan, plan.features(std::move(records)), public_records,
                          MemberTrainer::state_at(plan, 0, initial));
    const auto alone = make_serial_communicator();
    while (!trainer.done()) {
        const std::string step = "trace/step" + std::to_string(trainer.state().step);
        trainer.step(*alone);
        if (golden.levels.size() == 1)
            compare_level(golden, plan.network, step, trainer.box(plan.levels.size() - 1), result);
        result.nominal =
            std::max(result.nominal,
                     largest_difference(read_parameters(golden.file, plan.network.layers(), step + "/n"),
                                        trainer.box(0).lower));
    }
    const auto panels = make_backend(golden.settings.certificate.product.exact() ? "cpu" : "reference",
                                     Precision::double_precision, golden.settings.certificate.product);
    const bool sweep = golden.file.has("k_list");
    const auto final_nominal =
        read_parameters(golden.file, plan.network.layers(), sweep ? "final_n" : "final/n");
    result.nominal = std::max(result.nominal, largest_difference(final_nominal, trainer.box(0).lower));
    for (std::size_t index = 0; index < golden.levels.size(); ++index) {
        // Level 0 is always there; k = 0 is it.
        const LevelState box = trainer.box(golden.levels[index] == 0 ? 0 : index + 1);
        compare_level(golden, plan.network,
                      sweep ? "final_k" + std::to_string(golden.levels[index]) : "final", box, result);
        check_enclosed(final_nominal, trainer.box(0), box, result);
        compare_predictions(golden, plan.features, plan.network, *panels, box, index, result);
    }
    return result;
}

}  // namespace holdfast
