#include "tools/checks/attack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dist/data/record_id.hpp"
#include "dist/layout/assignment.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/boxes/one_step.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/claims.hpp"
#include "models/certify/output_bounds.hpp"
#include "models/certify/prediction_steps.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/privacy/aggregate.hpp"
#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

/// A stream of choices, all from one seed.
class Choices {
  public:
    explicit Choices(std::uint64_t seed) : hash_{seed} {}
    std::size_t below(std::size_t bound) { return hash_(17, next_++) % bound; }
    double uniform(double low, double high) { return low + (high - low) * hash_.uniform(17, next_++); }
    double normal() { return hash_.normal(23, next_++); }
    bool chance(double p) { return uniform(0, 1) < p; }
    template <typename T>
    T pick(std::initializer_list<T> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(below(values.size())));
    }

  private:
    KeyedHash hash_;
    std::uint64_t next_ = 0;
};

constexpr double feature_range = 2.0;  // of ordinary records

Records no_records(std::size_t features) {
    return {FeatureMatrix(features, true), {}, {}, {}};
}

void append(Records& records, const std::vector<double>& features, std::int32_t label, std::uint64_t id) {
    records.features.append(features.data());
    records.labels.push_back(label);
    records.ids.push_back(id);
    records.rows.push_back(records.rows.size());
}

std::vector<double> features_of(const Records& records, std::size_t index) {
    std::vector<double> features;
    for (std::size_t j = 0; j < records.features.columns(); ++j)
        features.push_back(records.features.at(index, j));
    return features;
}

/// Gives every record a number to learn that is its own: a function of its id and label, mostly ordinary.
void give_numbers(Records& records) {
    const KeyedHash hash{29};
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint64_t draw = hash(31, records.ids[i]);
        const double size = draw % 11 == 0 ? 0x1p20 : draw % 7 == 0 ? 1e-300 : 1.0;
        records.targets.push_back((records.labels[i] - 0.5 + hash.uniform(37, records.ids[i])) * size);
    }
}

/// Every record becomes a person of up to so many rows, a function of the record alone: it, and others that
/// are the same, or anything.
Records with_rows(const Records& records, std::int64_t rows_at_most);

Records without(const Records& records, const std::vector<std::uint64_t>& ids) {
    Records kept = no_records(records.features.columns());
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (std::find(ids.begin(), ids.end(), records.ids[i]) == ids.end())
            append(kept, features_of(records, i), records.labels[i], records.ids[i]);
    }
    return kept;
}

/// A record anywhere: ordinary, at corners, zero, tiny, at the edge of the default range, or far beyond any.
std::vector<double> any_features(Choices& choices, std::size_t count) {
    constexpr double greatest = std::numeric_limits<double>::max();
    std::vector<double> features(count);
    const std::size_t kind = choices.below(8);
    for (double& value : features) {
        if (kind <= 1) value = std::clamp(choices.normal(), -feature_range, feature_range);
        if (kind == 2) value = choices.pick({-feature_range, feature_range});
        if (kind == 3) value = choices.pick({0.0, -0.0, feature_range});
        if (kind == 4) value = choices.pick({1e-300, -1e-310, 0x1p-1074, 1e-9});
        if (kind == 5) value = choices.pick({0x1p20, -0x1p20, 1e6, -1048575.9});
        if (kind == 6) value = choices.pick({1e12, -1e100, 1e290, greatest, -greatest});
        if (kind == 7) value = choices.pick({greatest, -1e30, 0.0, 1e-300, 1.0});
    }
    return features;
}

Records with_rows(const Records& records, std::int64_t rows_at_most) {
    Records persons = no_records(records.features.columns());
    persons.rows_of_persons = true;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::vector<double> first = features_of(records, i);
        Choices choices(id_of_content(first, true, records.labels[i]) ^ records.ids[i]);
        append(persons, first, records.labels[i], records.ids[i]);
        const bool same = choices.chance(0.5);
        const std::size_t rows = 1 + choices.below(static_cast<std::size_t>(rows_at_most));
        persons.weights.resize(persons.weights.size() + rows, row_weight(rows));
        for (std::size_t more = 1; more < rows; ++more)
            append(persons, same ? first : any_features(choices, first.size()),
                   choices.chance(0.8) ? records.labels[i] : 0, records.ids[i]);
    }
    return persons;
}

/// The same, where they are no persons yet: poison keeps the rows that there are.
Records rows_of(Records records, const Settings& settings) {
    if (!settings.poisoned()) return with_rows(records, settings.training.rows_at_most);
    weigh_persons(records, static_cast<std::uint64_t>(settings.training.rows_at_most), "attack");
    return records;
}

std::vector<std::uint32_t> all_indices(const Records& records) {
    std::vector<std::uint32_t> indices(records.size());
    for (std::uint32_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
}

/// The clipped gradient of every record by one parameter, at the initial point: what a greedy attacker sorts
/// by.
std::vector<std::int64_t> influence(const AttackProblem& problem, const Records& records,
                                    std::size_t parameter) {
    const auto initial =
        problem.network.initial_parameters(static_cast<std::uint64_t>(problem.settings.training.seed), 0);
    const auto backend = make_backend("cpu", problem.settings.training.arithmetic());
    const auto engine = backend->engine(problem.network.shape(), problem.settings.clip);
    engine->set_records(std::vector{records.view()});
    const std::vector<Variant> point{{initial.data(), initial.data()}};
    const StepMessage layout = StepMessage::of(1, problem.network.shape());
    std::vector<std::int64_t> values;
    for (const std::uint32_t index : all_indices(records)) {
        engine->run(point, std::vector{std::span<const std::uint32_t>(&index, 1)});
        values.push_back(engine->finish()[layout.lower(0) + parameter]);
    }
    return values;
}

/// What an attacker adds: one of many candidates, the worst for a chosen parameter if greedy.
class Neighbours {
  public:
    Neighbours(const AttackProblem& problem, Choices& choices) : problem_(problem), choices_(choices) {
        greedy_ = choices.chance(0.6);
        upwards_ = choices.chance(0.5);
        one_batch_ = choices.chance(0.5);
        ids_ = choices.pick({Ids::fresh, Ids::fresh, Ids::clashing, Ids::greatest});
        parameter_ = choices.below(problem.network.parameters());
    }

    /// D' at distance at most `changes`.
    Records make(std::int64_t changes) {
        const Relation relation = problem_.settings.certificate.relation;
        if (relation == Relation::poison) return poisoned(changes);
        std::int64_t additions = changes, removals = 0;
        if (relation == Relation::remove) std::swap(additions, removals);
        if (relation == Relation::substitute) removals = changes;
        if (relation == Relation::add_remove && choices_.chance(0.6)) {
            removals = static_cast<std::int64_t>(choices_.below(static_cast<std::size_t>(changes) + 1));
            additions = changes - removals;
        }
        const std::vector<std::uint64_t> gone = to_remove(removals);
        Records changed = without(problem_.records, gone);
        const Records added = to_add(additions);
        for (std::size_t i = 0; i < added.size(); ++i) {
            // A substituted record keeps its id.
            const std::uint64_t id =
                relation == Relation::substitute ? (i < gone.size() ? gone[i] : 0) : added.ids[i];
            if (relation == Relation::substitute && i >= gone.size()) break;
            append(changed, features_of(added, i), added.labels[i], id);
        }
        return changed;
    }

  private:
    /// The features lie about what the record counts as: those beyond the public range about its ends.
    std::vector<double> poisoned_features(std::size_t index) {
        const InputTransform transform = problem_.network.transform();
        const double radius = problem_.settings.poison.input_radius;
        std::vector<double> features = features_of(problem_.records, index);
        if (choices_.chance(0.2)) return features;
        const bool corner = choices_.chance(0.7);
        for (double& value : features) {
            const double move = corner ? choices_.pick({-radius, radius}) : choices_.uniform(-radius, radius);
            value = transform.inside(value) + move;
        }
        return features;
    }
    std::int32_t poisoned_label(std::int32_t label) {
        const Poison& poison = problem_.settings.poison;
        if (poison.labels == Poison::Labels::any)
            return static_cast<std::int32_t>(choices_.below(problem_.network.classes()));
        const bool changed = poison.labels == Poison::Labels::targeted && choices_.chance(0.7);
        return changed ? poison.target_label : label;
    }

    /// What the greatest change of the parameter's gradient makes of at most so many records, if greedy.
    Records poisoned(std::int64_t changes) {
        constexpr std::size_t candidates = 6;
        const Records& records = problem_.records;
        Records pool = no_records(problem_.network.inputs());
        for (std::size_t i = 0; i < records.size(); ++i) {
            for (std::size_t c = 0; c < candidates; ++c)
                append(pool, poisoned_features(i), poisoned_label(records.labels[i]), records.ids[i]);
        }
        const std::vector<std::int64_t> before = influence(problem_, records, parameter_),
                                        after = influence(problem_, pool, parameter_);
        struct Change {
            std::int64_t gain;
            std::uint64_t id;
        };
        std::vector<Change> best;          // of each id, all its rows together
        std::vector<std::size_t> becomes;  // [records], in the pool
        for (std::size_t i = 0; i < records.size(); ++i) {
            std::int64_t greatest = INT64_MIN;
            becomes.push_back(0);
            for (std::size_t c = i * candidates; c < (i + 1) * candidates; ++c) {
                const std::int64_t gain = upwards_ ? after[c] - before[i] : before[i] - after[c];
                if (gain > greatest) becomes.back() = c;
                greatest = std::max(greatest, gain);
            }
            if (!wanted_batch(records.ids[i])) continue;
            if (best.empty() || best.back().id != records.ids[i]) best.push_back({0, records.ids[i]});
            best.back().gain += greatest;
        }
        if (greedy_)
            std::stable_sort(best.begin(), best.end(),
                             [](const Change& a, const Change& b) { return a.gain > b.gain; });
        best.resize(std::min(best.size(), static_cast<std::size_t>(changes)));
        Records changed = no_records(problem_.network.inputs());
        for (std::size_t i = 0; i < records.size(); ++i) {
            const bool moved = std::any_of(best.begin(), best.end(),
                                           [&](const Change& change) { return change.id == records.ids[i]; });
            const Records& from = moved ? pool : records;
            const std::size_t at = moved ? becomes[i] : i;
            append(changed, features_of(from, at), from.labels[at], records.ids[i]);
        }
        return changed;
    }

    std::vector<std::uint32_t> ordered(const Records& records) {
        std::vector<std::uint32_t> order = all_indices(records);
        if (greedy_) {
            const std::vector<std::int64_t> values = influence(problem_, records, parameter_);
            std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
                return upwards_ ? values[a] > values[b] : values[a] < values[b];
            });
        }
        return order;
    }
    bool wanted_batch(std::uint64_t id) const {
        const Assignment assignment(static_cast<std::uint64_t>(problem_.settings.training.seed));
        return !one_batch_ ||
               assignment.batch(id, 0, static_cast<std::uint64_t>(problem_.settings.training.batches)) == 0;
    }

    std::vector<std::uint64_t> to_remove(std::int64_t count) {
        std::vector<std::uint64_t> ids;
        for (const std::uint32_t index : ordered(problem_.records)) {
            if (static_cast<std::int64_t>(ids.size()) == count) break;
            if (wanted_batch(problem_.records.ids[index])) ids.push_back(problem_.records.ids[index]);
        }
        return ids;
    }

    Records to_add(std::int64_t count) {
        Records pool = no_records(problem_.network.inputs());
        std::uint64_t id = ids_ == Ids::greatest ? UINT64_MAX : 1000000;
        for (std::int64_t i = 0; i < 12 * count; ++i) {
            do ids_ == Ids::greatest ? --id : ++id;
            while (!wanted_batch(id));
            if (ids_ == Ids::clashing &&
                problem_.records.size() > 0)  // the id of somebody who is there already
                id = problem_.records.ids[choices_.below(problem_.records.size())];
            append(pool, any_features(choices_, problem_.network.inputs()),
                   static_cast<std::int32_t>(choices_.below(problem_.network.classes())), id);
        }
        // The opposite direction of a removal: added records push where removed ones pulled.
        upwards_ = !upwards_;
        const std::vector<std::uint32_t> order = ordered(pool);
        upwards_ = !upwards_;
        Records added = no_records(problem_.network.inputs());
        for (std::size_t i = 0; i < order.size() && static_cast<std::int64_t>(i) < count; ++i)
            append(added, features_of(pool, order[i]), pool.labels[order[i]], pool.ids[order[i]]);
        return added;
    }

    const AttackProblem& problem_;
    Choices& choices_;
    enum class Ids { fresh, clashing, greatest } ids_;
    bool greedy_, upwards_, one_batch_;
    std::size_t parameter_;
};

Certificates certify_with(const AttackProblem& problem, const std::vector<LevelState>& boxes) {
    const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
        lower = boxes[level].lower;
        upper = boxes[level].upper;
    };
    return certify(
        problem.network, *make_backend("cpu", problem.settings.training.arithmetic()), problem.queries,
        boxes.size(), load,
        problem.settings.certificate.product.exact() ? LevelSearch::bisection : LevelSearch::ascending,
        [&](std::size_t) { return problem.input_radius; });
}

const char* name_of(Clip::Kind kind) {
    switch (kind) {
        case Clip::Kind::elementwise:
            return "elementwise";
        case Clip::Kind::factored:
            return "factored";
        case Clip::Kind::norm:
            return "norm";
        case Clip::Kind::record_norm:
            return "record_norm";
        case Clip::Kind::tensor_norm:
            return "tensor_norm";
        case Clip::Kind::none:
            return "none";
    }
    return "";
}

std::string label_of(const AttackProblem& problem, std::uint64_t seed) {
    return "seed " + std::to_string(seed) + " " + name_of(problem.settings.certificate.relation) + " " +
           name_of(problem.settings.certificate.charge_rule) + " " + name_of(problem.settings.clip.kind) +
           (problem.settings.training.precision == Precision::double_precision
                ? ""
                : std::string(" ") + holdfast::name_of(problem.settings.training.precision)) +
           " depth " + std::to_string(problem.network.layers().size()) + ": ";
}

/// Parameters of `inner` outside `outer`, as text; empty if none.
std::string outside(const LevelState& inner, const LevelState& outer) {
    for (std::size_t p = 0; p < inner.lower.size(); ++p) {
        if (inner.lower[p] < outer.lower[p] || inner.upper[p] > outer.upper[p]) {
            return "parameter " + std::to_string(p) + " in [" + std::to_string(inner.lower[p]) + ", " +
                   std::to_string(inner.upper[p]) + "], box [" + std::to_string(outer.lower[p]) + ", " +
                   std::to_string(outer.upper[p]) + "]";
        }
    }
    return "";
}

/// How far the parameters moved, as a fraction of how far the box lets them move that way: 1 reaches its
/// wall.
double reached(const LevelState& nominal, const LevelState& moved, const LevelState& box) {
    double largest = 0;
    for (std::size_t p = 0; p < box.lower.size(); ++p) {
        const std::int64_t displacement = moved.lower[p] - nominal.lower[p];
        const std::int64_t room =
            displacement > 0 ? box.upper[p] - nominal.lower[p] : nominal.lower[p] - box.lower[p];
        if (displacement != 0)
            largest = std::max(largest, std::abs(static_cast<double>(displacement)) /
                                            std::max(1.0, static_cast<double>(room)));
    }
    return largest;
}

/// Every member's boxes and the ensemble's evidence for the queries.
struct TrainedEnsemble {
    std::vector<std::vector<LevelState>> boxes;
    std::vector<Certificates> certificates;
    std::vector<Evidence> evidence;
};
TrainedEnsemble train_ensemble(const AttackProblem& problem, const Records& records) {
    TrainedEnsemble trained;
    for (std::int64_t member = 0; member < problem.settings.ensemble.members; ++member) {
        trained.boxes.push_back(train_boxes(problem, records, static_cast<std::uint64_t>(member),
                                            problem.settings.certificate.levels));
        trained.certificates.push_back(certify_with(problem, trained.boxes.back()));
    }
    const std::size_t classes = problem.network.classes();
    for (std::size_t q = 0; q < problem.queries.size(); ++q) {
        std::vector<MemberAnswer> answers;
        for (const Certificates& member : trained.certificates) {
            const auto first = member.class_distances.begin() + static_cast<std::ptrdiff_t>(q * classes);
            answers.push_back(
                {member.labels[q], member.distances[q],
                 classes > 2 || problem.input_radius > 0
                     ? std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes))
                     : std::vector<std::int64_t>()});
        }
        trained.evidence.push_back(
            aggregate(answers, static_cast<int>(classes), problem.settings.certificate.levels));
    }
    return trained;
}

/// Of midpoint-radius products, which nest up to rounding only; for a third of the problems.
void draw_products(std::uint64_t seed, AttackProblem& problem) {
    Choices choices(seed ^ 0x9a0d0c7);
    const Settings& settings = problem.settings;
    if (settings.clip.by_factors() || settings.training.precision != Precision::double_precision) return;
    if (!choices.chance(0.4)) return;
    std::vector<Product>& layers = problem.settings.certificate.product.layers;
    layers.resize(problem.network.layers().size());
    for (Product& product : layers)
        product = choices.pick({Product::exact, Product::rump, Product::nguyen, Product::nguyen});
}

/// What a device does not compute.
bool host_only(const Settings& settings) {
    return settings.host_only() && settings.certificate.product.exact();
}

/// What a step does besides following its gradient; of weight decay as much as momentum allows.
void draw_step(Choices& choices, Settings& settings) {
    TrainingSettings& training = settings.training;
    training.momentum = choices.pick({0.0, 0.0, 0.5, 0.9});
    if (training.momentum > 0 && training.learning_rate <= 2) {
        training.dampening = choices.pick({0.0, 0.0, 0.3});
        training.nesterov = choices.chance(0.4);
    }
    training.l1 = choices.pick({0.0, 0.0, 0.02, 0.5});
    if (settings.certificate.charge_rule == ChargeRule::per_batch)
        training.l1_step = choices.pick({L1Step::proximal, L1Step::sign});
    TrainingSettings before = training;  // the steps of public records alone
    before.epochs = training.public_steps;
    before.batches = 1;
    const auto trains = [&] {
        try {
            make_optimiser(training, -40);
            before.l2 = training.l2;
            make_optimiser(before, -40);
        } catch (const Error&) {
            return false;
        }
        return true;
    };
    while (!trains()) training.l2 /= 4;
}

}  // namespace

void AttackReport::add(const AttackReport& other) {
    attacks += other.attacks;
    clipped_after += other.clipped_after;
    violations.insert(violations.end(), other.violations.begin(), other.violations.end());
    for (const auto& [name, value] : other.tightness) tightness[name] = std::max(tightness[name], value);
}

namespace {

constexpr std::size_t image_columns = 2 * 3 * 4;

/// Of some problems: convolutions, pooling, dropout, or layers without bias. By choices of their own.
bool draw_images(std::uint64_t seed, Settings& settings) {
    Choices choices(seed ^ 0x1a7e5);
    settings.network.bias = choices.chance(0.8) || settings.clip.kind == Clip::Kind::record_norm;
    const bool dense = settings.training.precision == Precision::fixed;
    if (!choices.chance(0.25) || dense) return false;
    settings.network.hidden = NetworkSettings{}.hidden;
    settings.network.image = {2, 3, 4};
    settings.network.layers = {
        choices.pick<std::string>({"conv 2 2x2", "conv 4 3x2 padding 1 groups 2",
                                   "conv 3 2x2 stride 2 padding 1 no_bias", "conv 2 2x2 dilation 2"})};
    if (choices.chance(0.5))
        settings.network.layers.push_back(
            choices.pick<std::string>({"average_pool 1x2 stride 2", "max_pool 1x2 stride 1",
                                       "max_pool 1x2 stride 2", "average_pool 1x1"}));
    if (choices.chance(0.3)) settings.network.layers.emplace_back("dropout 0.3");
    if (choices.chance(0.3)) settings.network.layers.emplace_back("conv 2 1x1");
    if (choices.chance(0.3)) settings.network.layers.emplace_back("dense 3 no_bias");
    const bool selects = settings.certificate.charge_rule != ChargeRule::per_epoch &&
                         settings.certificate.relation != Relation::add_remove;
    if (settings.clip.kind != Clip::Kind::factored || selects) settings.clip.kind = Clip::Kind::elementwise;
    check(settings);
    return true;
}

}  // namespace

namespace {

/// Of some problems: hidden layers that stay from some step on, or from the first.
void draw_layer_steps(std::uint64_t seed, Settings& settings) {
    Choices choices(seed ^ 0x57a7);
    if (!choices.chance(0.4)) return;
    const auto steps = static_cast<std::uint64_t>(settings.training.steps());
    for (std::size_t layer = settings.network.hidden_layers(1).size(); layer > 0; --layer)
        settings.training.layer_steps.push_back(static_cast<std::int64_t>(choices.below(steps + 1)));
}

}  // namespace

AttackProblem draw_problem(std::uint64_t seed, Arithmetic arithmetic) {
    Choices choices(seed);
    Settings settings;
    settings.training.seed = static_cast<std::int64_t>(seed);
    settings.training.precision = arithmetic.precision;
    settings.training.activation_bits = arithmetic.activation_bits;
    settings.certificate.relation =
        choices.pick({Relation::add_remove, Relation::substitute, Relation::remove});
    settings.certificate.charge_rule =
        choices.pick({ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both});
    if (settings.certificate.relation == Relation::add_remove && choices.chance(0.4))
        settings.clip.kind = Clip::Kind::factored;
    Choices clips(seed ^ 0xc11b5);  // apart, so that all else stays as it was
    const bool others = seed % 2 == 0;
    if (others)
        settings.clip.kind =
            clips.pick({Clip::Kind::factored, Clip::Kind::record_norm, Clip::Kind::tensor_norm});
    settings.clip.norm_limit = clips.pick({0.05, 0.3, 2.0});
    settings.training.public_batch_size = others ? clips.pick<std::int64_t>({0, 3}) : 0;
    if (settings.training.public_batch_size > 0)
        settings.training.public_steps = static_cast<std::int64_t>(clips.below(4));
    settings.clip.gamma = choices.pick({0.02, 0.1, 0.5});
    settings.clip.delta_limit = choices.pick({0.2, 1.0});
    settings.clip.activation_limit = choices.pick({0.3, 2.0});
    settings.training.epochs = 1 + static_cast<std::int64_t>(choices.below(3));
    settings.training.batches = 1 + static_cast<std::int64_t>(choices.below(3));
    settings.training.learning_rate = choices.pick({0.1, 0.5, 2.0, 2.0, 1e6});  // the last saturates
    settings.training.learning_rate_decay = choices.pick({0.0, 0.6});
    settings.training.l2 = choices.pick({0.0, 0.0, 0.05, 0.4});
    if (settings.training.learning_rate > 2) settings.training.l2 = 0;
    draw_step(choices, settings);
    settings.ensemble.members = choices.pick({1, 1, 3});
    settings.certificate.levels = 1 + static_cast<std::int64_t>(choices.below(6));
    settings.network.classes = choices.pick({2, 2, 3});
    settings.network.loss =
        settings.network.classes == 2
            ? choices.pick({"binary_cross_entropy", "cross_entropy", "hinge", "huber", "one_vs_rest"})
            : choices.pick({"cross_entropy", "one_vs_rest"});
    settings.network.hidden.clear();
    for (std::size_t layer = choices.chance(0.1) ? 4 + choices.below(9) : choices.below(4); layer > 0;
         --layer)
        settings.network.hidden.push_back(1 + static_cast<std::int64_t>(choices.below(9)));
    const bool images = draw_images(seed, settings);
    draw_layer_steps(seed, settings);
    const std::size_t features = images ? image_columns : 1 + choices.below(8),
                      count = choices.pick<std::size_t>({0, 1, 7, 40, 99, 150});
    // Public, and not the count: neighbours around any boundary of counts train alike.
    settings.training.expected_records = choices.pick<std::int64_t>({1, 10, 40, 100, 150});

    settings.network.input_shift = choices.pick({0.0, 0.0, 0.5});
    settings.network.input_scale = choices.pick({1.0, 1.0, 3.0});
    FeatureRange range = choices.pick<FeatureRange>({default_feature_range,
                                                     default_feature_range,
                                                     FeatureRange{-feature_range, feature_range},
                                                     {0.0, 1.0}});
    if (arithmetic.precision == Precision::fixed && range == default_feature_range)
        range = {-feature_range, feature_range};  // it wants one stated
    AttackProblem problem{settings, settings.network.make(settings.feature_map(features, range)),
                          no_records(features), no_records(features), no_records(features)};
    for (std::uint64_t id = 0; id < 4 && settings.training.public_batch_size > 0; ++id)
        append(problem.public_records, any_features(clips, features),
               static_cast<std::int32_t>(clips.below(problem.network.classes())), id);
    for (std::uint64_t id = 0; id < count + 40; ++id) {
        std::vector<double> row =
            choices.chance(0.1) ? any_features(choices, features) : std::vector<double>(features);
        const auto label = static_cast<std::int32_t>(choices.below(problem.network.classes()));
        for (double& value : row)
            value = std::clamp(value + (label - 0.5) + choices.normal() * 0.5, -feature_range, feature_range);
        append(id < count ? problem.records : problem.queries, row, label, id);
    }
    return problem;
}

std::vector<LevelState> train_boxes(const AttackProblem& problem, const Records& records,
                                    std::uint64_t member, std::int64_t levels) {
    Settings settings = problem.settings;
    settings.certificate.levels = levels;
    TrainingPlan plan = make_plan(settings,
                                  {.features = problem.network.inputs(),
                                   .range = problem.network.transform().range,
                                   .public_records = problem.public_records.size()},
                                  make_backend(host_only(settings) ? "cpu" : "auto",
                                               settings.training.arithmetic(), settings.certificate.product));
    plan.levels = settings.certificate.level_values();  // each is trained, also where others follow from two
    const Assignment assignment(static_cast<std::uint64_t>(settings.training.seed));
    std::vector<std::uint64_t> elsewhere;
    for (const std::uint64_t id : records.ids) {
        if (assignment.member(id, static_cast<std::uint64_t>(settings.ensemble.members)) != member)
            elsewhere.push_back(id);
    }
    Records mine = without(records, elsewhere);
    if (settings.training.rows_of_persons()) mine = rows_of(mine, settings);
    weigh_by_class(mine, settings.training.class_weights);
    if (problem.network.is_regression()) give_numbers(mine);
    MemberTrainer trainer(plan, std::move(mine), problem.public_records,
                          MemberTrainer::fresh_state(plan, member, problem.public_records));
    const auto alone = make_serial_communicator();
    while (!trainer.done()) trainer.step(*alone);
    std::vector<LevelState> boxes;
    for (std::size_t level = 0; level < plan.levels.size(); ++level) boxes.push_back(trainer.box(level));
    return boxes;
}

namespace {

AttackReport attack_boxes(AttackProblem problem, std::uint64_t seed, std::int64_t records_too_few) {
    problem.settings.ensemble.members = 1;
    draw_products(seed, problem);
    Choices choices(seed ^ 0x5eed);
    const std::vector<LevelState> boxes =
        train_boxes(problem, problem.records, 0, problem.settings.certificate.levels);
    const Certificates certificates = certify_with(problem, boxes);
    AttackReport report;
    for (std::int64_t k = 1 + records_too_few; k <= problem.settings.certificate.levels; ++k) {
        ++report.attacks;
        const LevelState& box = boxes[static_cast<std::size_t>(k - records_too_few)];
        const Records neighbour = Neighbours(problem, choices).make(k);
        std::vector<LevelState> moved;
        try {
            moved = train_boxes(problem, neighbour, 0, 0);
        } catch (const Error& error) {  // an exit code that a neighbour does not have is an answer
            report.violations.push_back(label_of(problem, seed) + "training ends: " + error.what());
            continue;
        }
        const std::string escaped = outside(moved[0], box);
        if (!escaped.empty())
            report.violations.push_back(label_of(problem, seed) + "k = " + std::to_string(k) + ", " +
                                        escaped);
        const Certificates theirs = certify_with(problem, moved);
        for (std::size_t q = 0; q < problem.queries.size(); ++q) {
            if (certificates.distances[q] >= k && certificates.labels[q] != theirs.labels[q])
                report.violations.push_back(label_of(problem, seed) + "certified label of query " +
                                            std::to_string(q) + " changed at k = " + std::to_string(k));
        }
        double& tightness = report.tightness[std::string(name_of(problem.settings.certificate.relation)) +
                                             " " + name_of(problem.settings.certificate.charge_rule) +
                                             " layers " + std::to_string(problem.network.layers().size())];
        tightness = std::max(tightness, reached(boxes[0], moved[0], box));
    }
    return report;
}

/// The same problem against an adversary that poisons.
AttackProblem against_poison(AttackProblem problem, std::uint64_t seed) {
    Choices choices(seed ^ 0x901507);
    Settings& settings = problem.settings;
    settings.certificate.relation = Relation::poison;
    settings.certificate.charge_rule = choices.pick({ChargeRule::per_batch, ChargeRule::both});
    if (settings.certificate.charge_rule == ChargeRule::both) settings.training.l1_step = L1Step::proximal;
    settings.clip.kind = Clip::Kind::elementwise;
    using Labels = Poison::Labels;
    settings.poison.input_radius = choices.pick({0.0, 0.01, 0.01, 0.2, 3.0});
    settings.poison.labels = choices.pick({Labels::kept, Labels::any, Labels::targeted});
    settings.poison.target_label = static_cast<std::int32_t>(choices.below(problem.network.classes()));
    return problem;
}

}  // namespace

AttackReport attack_enclosure(std::uint64_t seed, std::int64_t records_too_few, Arithmetic arithmetic) {
    return attack_boxes(draw_problem(seed, arithmetic), seed, records_too_few);
}

AttackReport attack_poison(std::uint64_t seed, std::int64_t records_too_few, Arithmetic arithmetic) {
    AttackProblem problem = draw_problem(seed, arithmetic);
    if (!problem.network.shape().is_dense()) return {};  // refused
    return attack_boxes(against_poison(std::move(problem), seed), seed, records_too_few);
}

namespace {

/// What one record more or less may not do to a query's evidence; empty: nothing of it.
std::string jump_between(const Evidence& a, const Evidence& b) {
    if (std::abs(a.distance - b.distance) > 1)
        return "distance jumped from " + std::to_string(a.distance) + " to " + std::to_string(b.distance);
    if (a.distance >= 1 && a.label != b.label) return "stable label changed";
    for (std::size_t j = 0; j < a.class_distances.size(); ++j)
        if (std::abs(a.class_distances[j] - b.class_distances[j]) > 1) return "class distance jumped";
    return "";
}

/// Of predictions in steps of [0, 1].
std::vector<Evidence> evidence_of_steps(const OutputBounder& bounder, const std::vector<LevelState>& boxes) {
    constexpr std::size_t count = 25;
    PredictionSteps steps({0, 1}, count);
    for (const LevelState& box : boxes) steps.add_level(bounder.over(box.lower, box.upper));
    std::vector<Evidence> evidence;
    const Certificates& found = steps.certificates();
    for (std::size_t q = 0; q < found.labels.size(); ++q) {
        const auto first = found.class_distances.begin() + static_cast<std::ptrdiff_t>(q * count);
        Evidence& one = evidence.emplace_back();
        one.classes = static_cast<int>(count);
        one.label = found.labels[q];
        one.distance = found.distances[q];
        one.class_distances.assign(first, first + count);
    }
    return evidence;
}

}  // namespace

AttackReport attack_regression(std::uint64_t seed, Arithmetic arithmetic) {
    AttackProblem problem = draw_problem(seed, arithmetic);
    Choices choices(seed ^ 0x4e6);
    std::vector<Records> neighbours;
    for (std::int64_t k = 1; k <= problem.settings.certificate.levels; ++k)
        neighbours.push_back(Neighbours(problem, choices).make(k));
    problem.settings.ensemble.members = 1;
    problem.settings.network.classes = 1;
    problem.settings.network.loss = "squared_error";
    problem.network = problem.settings.network.make(
        problem.settings.feature_map(problem.network.inputs(), problem.network.transform().range));
    give_numbers(problem.public_records);
    const std::vector<LevelState> boxes =
        train_boxes(problem, problem.records, 0, problem.settings.certificate.levels);
    const auto backend = make_backend("cpu", arithmetic);
    const OutputBounder bounder(problem.network, *backend, problem.queries);
    AttackReport report;
    for (std::size_t k = 1; k < boxes.size(); ++k) {
        ++report.attacks;
        const LevelState moved = train_boxes(problem, neighbours[k - 1], 0, 0).front();
        const std::string at = label_of(problem, seed) + "k = " + std::to_string(k) + ", ";
        const std::string escaped = outside(moved, boxes[k]);
        if (!escaped.empty()) report.violations.push_back(at + escaped);
        const OutputBounds intervals = bounder.over(boxes[k].lower, boxes[k].upper),
                           theirs = bounder.over(moved.lower, moved.upper);
        for (std::size_t q = 0; q < problem.queries.size(); ++q) {
            if (!(intervals.lower[q] <= theirs.lower[q] && theirs.upper[q] <= intervals.upper[q]))
                report.violations.push_back(at + "prediction " + std::to_string(q) + " leaves its interval");
        }
        double& tightness = report.tightness["regression"];
        tightness = std::max(tightness, reached(boxes[0], moved, boxes[k]));
    }
    const Relation relation = problem.settings.certificate.relation;
    if (relation != Relation::add_remove && relation != Relation::substitute) return report;
    const std::vector<Evidence> ours = evidence_of_steps(bounder, boxes),
                                theirs = evidence_of_steps(bounder,
                                                           train_boxes(problem, neighbours[0], 0,
                                                                       problem.settings.certificate.levels));
    for (std::size_t q = 0; q < ours.size(); ++q) {
        const std::string jump = jump_between(ours[q], theirs[q]);
        if (!jump.empty())
            report.violations.push_back(label_of(problem, seed) + "prediction " + std::to_string(q) + ": " +
                                        jump);
    }
    return report;
}

namespace {

/// The ensemble's labels of queries, each moved by at most `radius`.
std::vector<int> labels_nearby(const AttackProblem& problem, const TrainedEnsemble& ensemble, double radius,
                               Choices& choices) {
    Records moved = no_records(problem.queries.features.columns());
    const InputTransform transform = problem.network.transform();
    for (std::size_t q = 0; q < problem.queries.size(); ++q) {
        std::vector<double> x = features_of(problem.queries, q);
        for (double& feature : x)
            feature = transform.inside(feature) +
                      radius * choices.pick({-1.0, 1.0, -1.0, 1.0, choices.uniform(-1, 1)});
        append(moved, x, 0, q);
    }
    moved.labels.clear();
    const auto backend = make_backend("cpu", problem.settings.training.arithmetic());
    std::vector<std::vector<MemberAnswer>> answers(moved.size());
    for (const std::vector<LevelState>& boxes : ensemble.boxes) {
        const Answers of_member = answers_of(problem.network, *backend, boxes.front().lower, moved);
        for (std::size_t q = 0; q < moved.size(); ++q) answers[q].push_back({of_member.labels[q], 0, {}});
    }
    std::vector<int> labels;
    for (const std::vector<MemberAnswer>& of_query : answers)
        labels.push_back(aggregate(of_query, static_cast<int>(problem.network.classes()), 0).label);
    return labels;
}

AttackReport attack_neighbour(AttackProblem problem, std::uint64_t seed, double times_as_far = 1) {
    if (problem.settings.certificate.relation == Relation::remove)
        problem.settings.certificate.relation = Relation::add_remove;  // one-sided: no smoothness
    Choices choices(seed ^ 0x5a007);
    const Records neighbour = Neighbours(problem, choices).make(1);
    const TrainedEnsemble ours = train_ensemble(problem, problem.records),
                          theirs = train_ensemble(problem, neighbour);
    AttackReport report;
    report.attacks = 1;
    const auto violated = [&](const std::string& what) {
        report.violations.push_back(label_of(problem, seed) + what);
    };
    for (std::size_t member = 0; member < ours.boxes.size(); ++member) {
        for (std::size_t level = 1; level < ours.boxes[member].size(); ++level) {
            const std::string forward = outside(theirs.boxes[member][level - 1], ours.boxes[member][level]);
            const std::string backward = outside(ours.boxes[member][level - 1], theirs.boxes[member][level]);
            const std::string nested = outside(ours.boxes[member][level - 1], ours.boxes[member][level]);
            if (!forward.empty() || !backward.empty() || !nested.empty())
                violated("level " + std::to_string(level) + " does not nest: " + forward + backward + nested);
        }
    }
    for (std::size_t q = 0; q < problem.queries.size(); ++q) {
        const std::string jump = jump_between(ours.evidence[q], theirs.evidence[q]);
        if (!jump.empty()) violated("query " + std::to_string(q) + ": " + jump);
    }
    for (int trial = 0; problem.input_radius > 0 && trial < 30; ++trial) {
        const std::vector<int> labels =
            labels_nearby(problem, theirs, times_as_far * problem.input_radius, choices);
        for (std::size_t q = 0; q < labels.size(); ++q) {
            if (ours.evidence[q].distance >= 1 && labels[q] != ours.evidence[q].label)
                violated("stable label of query " + std::to_string(q) + " changed where it moved");
        }
    }
    return report;
}

/// The same problem with persons of several rows, where they are bounded.
AttackProblem of_persons(AttackProblem problem, std::uint64_t seed) {
    Choices choices(seed ^ 0x9e7505);
    Settings& settings = problem.settings;
    settings.training.rows_at_most = choices.pick<std::int64_t>({2, 3, 7});
    if (settings.clip.by_factors() && settings.training.precision == Precision::fixed)
        settings.clip.kind = Clip::Kind::elementwise;
    if (settings.certificate.charge_rule != ChargeRule::per_batch)
        settings.training.l1_step = L1Step::proximal;
    if (!settings.clip.by_factors() && choices.chance(0.5)) settings.training.clip_rows = "after";
    check(settings);
    return problem;
}

/// The same problem with records that count by their labels.
AttackProblem by_class(AttackProblem problem, std::uint64_t seed) {
    Choices choices(seed ^ 0xc1a55);
    Settings& settings = problem.settings;
    for (std::size_t label = 0; label < problem.network.classes(); ++label)
        settings.training.class_weights.push_back(choices.pick({1.0, 0.5, 307 * weight_unit, 0x1p-10}));
    if (settings.clip.by_factors() && settings.training.precision == Precision::fixed)
        settings.clip.kind = Clip::Kind::elementwise;
    weigh_by_class(problem.public_records, settings.training.class_weights);
    check(settings);
    return problem;
}

}  // namespace

AttackReport attack_smoothness(std::uint64_t seed, Arithmetic arithmetic) {
    return attack_neighbour(draw_problem(seed, arithmetic), seed);
}

AttackReport attack_moved_queries(std::uint64_t seed, double times_as_far, Arithmetic arithmetic) {
    AttackProblem problem = draw_problem(seed, arithmetic);
    problem.input_radius = Choices(seed ^ 0x30fed).pick({0.01, 0.05, 0.2});
    return attack_neighbour(std::move(problem), seed, times_as_far);
}

AttackReport attack_persons(std::uint64_t seed, std::int64_t persons_too_few, Arithmetic arithmetic) {
    AttackProblem problem = of_persons(draw_problem(seed, arithmetic), seed);
    AttackReport report = attack_boxes(problem, seed, persons_too_few);
    if (persons_too_few == 0) report.add(attack_neighbour(problem, seed));
    const auto counted = [](AttackReport found, const Settings& settings) {
        if (settings.training.clips_after()) found.clipped_after = found.attacks;
        return found;
    };
    report = counted(std::move(report), problem.settings);
    if (seed % 2 == 0 && !problem.network.is_regression()) {
        const AttackProblem weighed = by_class(draw_problem(seed, arithmetic), seed);
        report.add(attack_boxes(weighed, seed, persons_too_few));
        if (persons_too_few == 0) report.add(attack_neighbour(weighed, seed));
    }
    if (seed % 3 != 0 || !problem.network.shape().is_dense()) return report;
    problem = against_poison(std::move(problem), seed);
    problem.records = with_rows(problem.records, problem.settings.training.rows_at_most);
    report.add(counted(attack_boxes(problem, seed, persons_too_few), problem.settings));
    return report;
}

namespace {

/// The same problem as one step over everything, whose levels follow from two.
AttackProblem in_one_step(AttackProblem problem) {
    Settings& settings = problem.settings;
    settings.training.epochs = settings.training.batches = 1;
    settings.training.l1_step = L1Step::proximal;
    settings.certificate.charge_rule = ChargeRule::per_epoch;
    settings.ensemble.members = 1;
    settings.certificate.levels = 6;  // that are trained; the others are not
    check(settings);
    return problem;
}

constexpr std::size_t far_levels = 70;

/// Levels 0..far_levels-1 of a member, of which two were trained, and what they certify.
struct FarLevels {
    FarLevels(const AttackProblem& problem, const std::vector<LevelState>& trained)
        : boxes(trained[0].lower, trained[1].lower, trained[1].upper), found(certified(problem)) {}

    LevelState at(std::int64_t k) const {
        LevelState box{k, {}, {}, {}, {}};
        boxes.at(k, box.lower, box.upper);
        return box;
    }
    Certificates certified(const AttackProblem& problem, LevelSearch search = LevelSearch::bisection) const {
        const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
            boxes.at(static_cast<std::int64_t>(level), lower, upper);
        };
        return certify(problem.network, *make_backend("cpu", problem.settings.training.arithmetic()),
                       problem.queries, far_levels, load, search);
    }

    OneStepBoxes boxes;
    Certificates found;
};

bool same(const Certificates& a, const Certificates& b) {
    return a.labels == b.labels && a.distances == b.distances && a.class_distances == b.class_distances;
}

}  // namespace

AttackReport attack_one_step(std::uint64_t seed, std::int64_t records_too_few, Arithmetic arithmetic) {
    const AttackProblem problem = in_one_step(draw_problem(seed, arithmetic));
    Choices choices(seed ^ 0x0e57e9);
    const std::int64_t trained_levels = problem.settings.certificate.levels;
    const std::vector<LevelState> trained = train_boxes(problem, problem.records, 0, trained_levels);
    const FarLevels far(problem, trained);
    AttackReport report;
    const auto violated = [&](const std::string& what) {
        report.violations.push_back(label_of(problem, seed) + "in one step, " + what);
    };

    // 1. Every level is what training it leaves; no search finds another distance.
    for (const LevelState& level : trained) {
        const LevelState made = far.at(level.k);
        if (made.lower != level.lower || made.upper != level.upper)
            violated("level " + std::to_string(level.k) + " is not that of a training");
    }
    if (!same(far.found, far.certified(problem, LevelSearch::each_apart)) ||
        !same(far.found, far.certified(problem, LevelSearch::ascending)))
        violated("distances depend on the search");

    // 2. Neighbours near and far.
    for (const std::int64_t k : {1, 2, 5, 17, 60}) {
        if (k <= records_too_few) continue;
        ++report.attacks;
        const LevelState box = far.at(k - records_too_few);
        const Records neighbour = Neighbours(problem, choices).make(k);
        const std::vector<LevelState> moved = train_boxes(problem, neighbour, 0, k == 1 ? 1 : 0);
        const std::string escaped = outside(moved[0], box), at = "k = " + std::to_string(k) + ", ";
        if (!escaped.empty()) violated(at + escaped);
        double& tightness =
            report.tightness[std::string("one step ") + name_of(problem.settings.certificate.relation)];
        tightness = std::max(tightness, reached(trained[0], moved[0], box));
        const Certificates theirs = certify_with(problem, {moved[0]});
        for (std::size_t q = 0; q < problem.queries.size(); ++q) {
            if (far.found.distances[q] >= k && far.found.labels[q] != theirs.labels[q])
                violated(at + "certified label of query " + std::to_string(q) + " changed");
        }
        // 3. What their levels say, however great.
        if (k > 1 || problem.settings.certificate.relation == Relation::remove) continue;
        const FarLevels others(problem, moved);
        for (const std::int64_t level : {1, 6, 69}) {
            if (!outside(others.at(level - 1), far.at(level)).empty() ||
                !outside(far.at(level - 1), others.at(level)).empty())
                violated("level " + std::to_string(level) + " does not nest");
        }
        for (std::size_t i = 0; i < far.found.class_distances.size(); ++i) {
            if (std::abs(far.found.class_distances[i] - others.found.class_distances[i]) > 1)
                violated("a class distance jumped");
        }
        for (std::size_t q = 0; q < problem.queries.size(); ++q) {
            if (std::abs(far.found.distances[q] - others.found.distances[q]) > 1)
                violated("the distance of query " + std::to_string(q) + " jumped");
        }
    }
    return report;
}

}  // namespace holdfast
