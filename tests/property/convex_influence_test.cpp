// Retrains convex models without the records that hurt a query most: its logit never moves further than the
// influence of removals says, and nearly so far (models/mathematics.md, influence of removals).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "models/certify/answers.hpp"
#include "models/convex/convex_distances.hpp"
#include "models/convex/influences.hpp"
#include "models/training/iterate_average.hpp"
#include "tests/support/convex_runs.hpp"
#include "tests/support/effort.hpp"

namespace holdfast {
namespace {

using test::ConvexRuns;
using Parameters = std::vector<std::int64_t>;

/// A training that the theorem covers, drawn from a seed, its records and queries.
struct InfluenceProblem {
    static constexpr std::size_t most = 6, queries_each = 12;
    std::mt19937_64 engine;
    std::size_t columns = 1 + engine() % 4;
    Settings settings = settings_of();
    Records records = test::no_records(columns), queries = test::no_records(columns);
    ConvexRuns runs{settings, columns};
    Parameters nominal;

    explicit InfluenceProblem(std::uint64_t seed) : engine(seed) {
        std::vector<double> slope(columns);
        for (double& value : slope) value = real(-4, 4);
        const std::size_t count = static_cast<std::size_t>(settings.training.expected_records);
        for (std::size_t i = 0; i < count; ++i) {
            const std::vector<double> row = row_of();
            const double logit = std::inner_product(row.begin(), row.end(), slope.begin(), real(-1, 1));
            test::append(records, engine(), row, logit > 0 ? 1 : 0);
        }
        for (std::size_t q = 0; q < queries_each; ++q) test::append(queries, q, row_of(), 0);
        nominal = runs.trained(records);
    }
    double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
    std::vector<double> row_of() {
        std::vector<double> row;
        for (std::size_t j = 0; j < columns; ++j)
            row.push_back(engine() % 8 == 0 ? (engine() % 2 == 0 ? -1 : 1) : real(-1, 1));
        return row;
    }
    Settings settings_of() {
        Settings chosen = test::convex_settings(2, "binary_cross_entropy");
        chosen.certificate.relation = Relation::remove;
        chosen.certificate.levels = most;
        chosen.training.batches = 1;
        chosen.training.expected_records = static_cast<std::int64_t>(20 + engine() % 60);
        chosen.training.l2 = std::exp(real(std::log(0.003), std::log(0.1)));
        if (engine() % 3 == 0) chosen.convex.most_records = 2 * chosen.training.expected_records;
        if (engine() % 3 == 0) chosen.convex.derivative_limit = real(0.3, 1);
        if (engine() % 4 == 0) chosen.convex.average = real(0, 0.1);
        const ConvexBounds bounds(chosen, ConvexRuns(chosen, columns).plan.features);
        chosen.training.learning_rate = bounds.largest_learning_rate() * real(0.6, 1);
        const double epochs = real(0.2, 9) / (chosen.training.learning_rate * chosen.training.l2);
        chosen.training.epochs = static_cast<std::int64_t>(std::min(epochs, 2000.0)) + 1;
        return chosen;
    }
    Parameters without(std::vector<std::size_t> gone) const {
        Records rest = test::no_records(columns);
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (std::find(gone.begin(), gone.end(), i) != gone.end()) continue;
            const double* row = &records.features.wide_values()[i * columns];
            test::append(rest, records.ids[i], {row, row + columns}, records.labels[i]);
        }
        return runs.trained(rest);
    }
    /// Of a query under parameters, exact.
    Rational logit(const Parameters& parameters, std::size_t q) const {
        Rational sum(Integer(static_cast<long>(parameters[columns])));
        for (std::size_t j = 0; j < columns; ++j)
            sum += Rational(queries.features.at(q, j)) * Rational(Integer(static_cast<long>(parameters[j])));
        return sum / Rational(power_of_two(50));
    }
};

/// Retrainings of a problem without some of its records, held against what was said of them.
class InfluenceAttack {
  public:
    explicit InfluenceAttack(const InfluenceProblem& problem)
        : problem_(problem),
          influences_(problem.settings, problem.runs.plan.features, problem.runs.plan.network,
                      problem.records, problem.nominal, InfluenceProblem::most) {
        for (std::size_t q = 0; q < problem.queries.size(); ++q) {
            logits_.push_back(problem.logit(problem.nominal, q));
            signs_.push_back(logits_.back() < 0 ? -1 : 1);
        }
        moved_ = influences_.moved(problem.queries, signs_);
        const ConvexRadius radius =
            convex_radius(problem.settings, problem.runs.plan.features, Relation::remove);
        const ConvexDistances distances(problem.runs.plan.network, radius);
        std::vector<std::int64_t> radii{0};  // nothing but the public radius, and the influences
        radii.resize(InfluenceProblem::most + 1, std::int64_t{1} << 61);
        certified_ = distances.of_removals(*problem.runs.plan.backend, problem.nominal, radii,
                                           problem.queries, &influences_);
    }

    /// [queries]: how far towards 0 each logit moved without these records.
    std::vector<double> remove(const std::vector<std::size_t>& gone) {
        const Parameters other = problem_.without(gone);
        const std::vector<std::int32_t> labels =
            answers_of(problem_.runs.plan.network, *problem_.runs.plan.backend, other, problem_.queries)
                .labels;
        std::vector<double> towards;
        for (std::size_t q = 0; q < logits_.size(); ++q) {
            const Rational moved = (logits_[q] - problem_.logit(other, q)) * Rational(signs_[q]);
            const double said = moved_[q][gone.size()].value();
            towards.push_back(moved.get_d());
            if (certified_.distances[q] >= static_cast<std::int64_t>(gone.size())) {
                EXPECT_EQ(labels[q], certified_.labels[q]);
                ++certified;
            }
            ++checked;
            if (std::isinf(said)) continue;
            EXPECT_LE(moved, Rational(said)) << "query " << q << ", " << gone.size() << " records";
            reached = std::max(reached, towards.back() / said);
            best[gone.size()] = std::max(best[gone.size()], towards.back() / said);
        }
        return towards;
    }

    std::int64_t checked = 0, certified = 0;
    double reached = 0;
    double best[InfluenceProblem::most + 1] = {};

  private:
    const InfluenceProblem& problem_;
    Influences influences_;
    std::vector<Rational> logits_;
    std::vector<double> signs_;
    std::vector<std::vector<Upper>> moved_;
    Certificates certified_;
};

/// The theorem in plain loops over long doubles, no rounding counted, and with the least margins m_r that it
/// lets assume: where they leave most of the curvature, no bound of the program is less.
class PlainInfluence {
  public:
    using Number = long double;
    using Vector = std::vector<Number>;
    using Matrix = std::vector<Vector>;

    PlainInfluence(const InfluenceProblem& problem, std::size_t removed)
        : problem_(problem), removed_(removed), size_(problem.columns + 1), count_(problem.records.size()) {
        const auto most = static_cast<Number>(most_records_of(problem.settings));
        whole_ = (most + 1 - static_cast<Number>(count_)) / most / static_cast<Number>(count_);
        left_ = (most + 1 - static_cast<Number>(count_ - removed)) / most / static_cast<Number>(count_);
        taken_ = 1 / (most * static_cast<Number>(count_));
        for (const std::int64_t units : problem.nominal)
            theta_.push_back(std::ldexp(static_cast<Number>(units), -50));
        for (std::size_t r = 0; r < count_; ++r) {
            rows_.push_back(row_of(problem.records, r));
            margins_.push_back(product(rows_.back(), theta_));
        }
        choose_coordinates();
        for (std::size_t r = 0; r < count_; ++r) {
            rows_[r] = mapped(rows_[r]);
            pulls_.push_back(
                std::clamp<Number>(probability(margins_[r]) - problem.records.labels[r], -limit(), limit()));
        }
        sum_.assign(size_, 0);
        for (std::size_t r = 0; r < count_; ++r) {
            for (std::size_t i = 0; i < size_; ++i) sum_[i] += pulls_[r] * rows_[r][i];
        }
        rest_ = mapped(theta_);
        for (std::size_t i = 0; i < size_; ++i) rest_[i] = lambda() * rest_[i] + whole_ * sum_[i];
        Vector lengths;
        for (std::size_t r = 0; r < count_; ++r) lengths.push_back(std::abs(pulls_[r]) * length(rows_[r]));
        pull_ =
            left_ * largest(lengths) + static_cast<Number>(removed) * taken_ * length(sum_) + length(rest_);
        close();
    }

    /// Of a query of this sign; infinite: nothing is shown.
    Number moved(std::size_t q, Number sign) const {
        if (!closed_) return INFINITY;
        const Vector row = row_of(problem_.queries, q);
        return drawn(mapped(row), sign) + length(row) * settled_;
    }

  private:
    Number limit() const { return problem_.settings.convex.derivative_limit; }
    Number lambda() const { return problem_.settings.training.l2; }
    static Number probability(Number margin) { return 1 / (1 + std::exp(-margin)); }
    static Number product(const Vector& a, const Vector& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), Number{0});
    }
    static Number length(const Vector& a) { return std::sqrt(product(a, a)); }
    Vector row_of(const Records& records, std::size_t r) const {
        Vector row;
        for (std::size_t j = 0; j + 1 < size_; ++j) row.push_back(records.features.at(r, j));
        row.push_back(1);
        return row;
    }
    Vector mapped(const Vector& row) const {
        Vector result;
        for (const Vector& part : metric_) result.push_back(product(part, row));
        return result;
    }
    Number largest(Vector values) const {
        std::sort(values.begin(), values.end(), std::greater<>());
        return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(removed_),
                               Number{0});
    }
    /// Of rows with weights, and so much of the squares of the metric.
    Matrix squares(const Vector& weights, Number share, Number ridge) const {
        Matrix result(size_, Vector(size_, 0));
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t j = 0; j < size_; ++j) {
                if (!metric_.empty()) result[i][j] = ridge * product(metric_[i], metric_[j]);
                for (std::size_t r = 0; r < count_; ++r)
                    result[i][j] += share * weights[r] * rows_[r][i] * rows_[r][j];
            }
        }
        return result;
    }
    /// The inverse of Cholesky's factor of the Hessian.
    void choose_coordinates() {
        Vector weights;
        for (const Number margin : margins_) weights.push_back(probability(margin) * probability(-margin));
        Matrix root = squares(weights, whole_, 0), inverse(size_, Vector(size_, 0));
        for (std::size_t i = 0; i < size_; ++i) root[i][i] += lambda();
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                for (std::size_t l = 0; l < j; ++l) root[i][j] -= root[i][l] * root[j][l];
                root[i][j] = i == j ? std::sqrt(root[i][i]) : root[i][j] / root[j][j];
            }
            inverse[i][i] = 1;
            for (std::size_t l = 0; l < i; ++l) {
                for (std::size_t j = 0; j <= l; ++j) inverse[i][j] -= root[i][l] * inverse[l][j];
            }
            for (Number& entry : inverse[i]) entry /= root[i][i];
        }
        metric_ = inverse;
    }
    /// Eigenvalues of a symmetric matrix, by rotations (Jacobi).
    static Vector eigenvalues(Matrix a) {
        for (int sweep = 0; sweep < 40; ++sweep) {
            for (std::size_t p = 0; p < a.size(); ++p) {
                for (std::size_t q = 0; q < p; ++q) {
                    if (a[p][q] == 0) continue;
                    const Number angle = std::atan2(2 * a[p][q], a[p][p] - a[q][q]) / 2, c = std::cos(angle),
                                 s = std::sin(angle);
                    for (Vector& row : a) {
                        const Number x = row[p], y = row[q];
                        row[p] = c * x + s * y, row[q] = c * y - s * x;
                    }
                    for (std::size_t j = 0; j < a.size(); ++j) {
                        const Number x = a[p][j], y = a[q][j];
                        a[p][j] = c * x + s * y, a[q][j] = c * y - s * x;
                    }
                }
            }
        }
        Vector values;
        for (std::size_t i = 0; i < a.size(); ++i) values.push_back(a[i][i]);
        return values;
    }
    /// (1) of the theorem.
    Number drawn(const Vector& y, Number sign) const {
        Vector parts;
        for (std::size_t r = 0; r < count_; ++r)
            parts.push_back(std::max<Number>(0, -sign * pulls_[r] * product(y, rows_[r])));
        const Number straight =
            left_ * largest(parts) +
            static_cast<Number>(removed_) * taken_ * std::max<Number>(0, sign * product(y, sum_)) +
            length(y) * length(rest_);
        return middle_ * straight + half_ * length(y) * pull_;
    }
    /// Margins from 0 on, until none moves any further.
    void close() {
        Vector within(count_, 0);
        for (int tries = 0; tries < 1000; ++tries) {
            Vector least, greatest, leverages;
            for (std::size_t r = 0; r < count_; ++r) {
                const Number size = std::abs(margins_[r]), near = std::max<Number>(0, size - within[r]),
                             towards = problem_.records.labels[r] == 1 ? margins_[r] : -margins_[r];
                const auto slope = [](Number margin) { return probability(margin) * probability(-margin); };
                least.push_back(probability(within[r] - towards) >= limit() ? 0 : slope(size + within[r]));
                greatest.push_back(probability(-within[r] - towards) > limit() ? 0 : slope(near));
                leverages.push_back(left_ * least[r] * product(rows_[r], rows_[r]));
            }
            const Vector low = eigenvalues(squares(least, whole_, lambda())),
                         high = eigenvalues(squares(greatest, left_, lambda()));
            const Number bottom = *std::min_element(low.begin(), low.end()) - largest(leverages),
                         top = *std::max_element(high.begin(), high.end());
            if (bottom <= 0) return;
            middle_ = (1 / bottom + 1 / top) / 2, half_ = (1 / bottom - 1 / top) / 2;
            Number moved = 0;
            for (std::size_t r = 0; r < count_; ++r) {
                const Number needed = std::min(std::max(drawn(rows_[r], 1), drawn(rows_[r], -1)),
                                               length(rows_[r]) * pull_ / bottom);
                moved = std::max(moved, std::abs(needed - within[r]) / needed);
                within[r] = needed;
            }
            if (moved > 1e-12L) continue;
            closed_ = true;
            Number squares_of_metric = 0;
            for (const Vector& row : metric_) squares_of_metric += product(row, row);
            settle(length(theta_) + std::sqrt(std::min(squares_of_metric, top / lambda())) * pull_ / bottom);
            return;
        }
    }
    /// How far from there the training still is.
    void settle(Number start) {
        const TrainingSettings& training = problem_.settings.training;
        const std::int64_t averaged = averaged_steps(problem_.settings.convex.average, training.steps());
        for (std::int64_t step = 0; step < training.steps(); ++step) {
            start *= 1 - training.learning_rate_at(step) * lambda();
            if (step >= training.steps() - averaged) settled_ += start / static_cast<Number>(averaged);
        }
    }

    const InfluenceProblem& problem_;
    std::size_t removed_, size_, count_;
    Number whole_, left_, taken_, pull_ = 0, middle_ = 0, half_ = 0, settled_ = 0;
    Vector theta_, margins_, pulls_, sum_, rest_;
    Matrix rows_, metric_;
    bool closed_ = false;
};

TEST(ConvexInfluence, IsThatOfItsDefinition) {
    std::size_t shown = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const InfluenceProblem problem(seed);
        const Influences influences(problem.settings, problem.runs.plan.features, problem.runs.plan.network,
                                    problem.records, problem.nominal, InfluenceProblem::most);
        std::vector<double> signs;
        for (std::size_t q = 0; q < problem.queries.size(); ++q)
            signs.push_back(problem.logit(problem.nominal, q) < 0 ? -1 : 1);
        const std::vector<std::vector<Upper>> moved = influences.moved(problem.queries, signs);
        for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{3}, InfluenceProblem::most}) {
            const PlainInfluence plain(problem, k);
            for (std::size_t q = 0; q < signs.size(); ++q) {
                const double said = moved[q][k].value();
                const auto least = static_cast<double>(plain.moved(q, signs[q]));
                if (least > 0.25) continue;  // of no use, and wider margins may leave more curvature
                EXPECT_GE(said, least * (1 - 1e-12)) << "query " << q << ", " << k << " records";
                EXPECT_LE(said, 1.3 * least + 1e-8) << "query " << q << ", " << k << " records";
                ++shown;
            }
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(shown, 500);
}

TEST(ConvexInfluence, CoversNoOtherTrainings) {
    const InfluenceProblem problem(1);
    const auto covered = [&](const std::function<void(Settings&)>& change, const Records& records) {
        Settings settings = problem.settings;
        change(settings);
        return Influences::cover(settings, ConvexRuns(settings, problem.columns).plan.network, records);
    };
    EXPECT_TRUE(covered([](Settings&) {}, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.training.batches = 2; }, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.training.l2 = 0; }, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.convex.l1 = 1e-9; }, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.network.loss = "huber"; }, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.network.loss = "cross_entropy"; }, problem.records));
    EXPECT_FALSE(covered([](Settings& s) { s.convex.most_records = 19; }, problem.records));
    EXPECT_FALSE(covered([](Settings&) {}, test::no_records(problem.columns)));
    Records weighed = problem.records;
    weighed.weights.assign(weighed.size(), 0.5);
    EXPECT_FALSE(covered([](Settings&) {}, weighed));
}

TEST(ConvexInfluence, NoRemovalMovesALogitFurtherAndTheWorstNearlySoFar) {
    double reached = 0, best[InfluenceProblem::most + 1] = {};
    std::int64_t checked = 0, certified = 0;
    for (std::uint64_t seed = 21; seed <= 20 + cases_of(8); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const InfluenceProblem problem(seed);
        ASSERT_TRUE(Influences::cover(problem.settings, problem.runs.plan.network, problem.records));
        InfluenceAttack attack(problem);
        std::vector<std::vector<double>> alone;  // of each record, towards 0 by query
        for (std::size_t r = 0; r < problem.records.size(); ++r) alone.push_back(attack.remove({r}));
        for (std::size_t q = 0; q < problem.queries.size(); q += 3) {
            std::vector<std::size_t> worst(problem.records.size());
            std::iota(worst.begin(), worst.end(), 0);
            std::sort(worst.begin(), worst.end(),
                      [&](std::size_t a, std::size_t b) { return alone[a][q] > alone[b][q]; });
            for (const std::size_t k : {std::size_t{2}, InfluenceProblem::most}) {
                attack.remove({worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(k)});
            }
        }
        checked += attack.checked;
        certified += attack.certified;
        reached = std::max(reached, attack.reached);
        for (std::size_t k = 0; k <= InfluenceProblem::most; ++k) best[k] = std::max(best[k], attack.best[k]);
        if (HasFailure()) return;
    }
    EXPECT_GT(reached, 0.95);
    EXPECT_GT(best[2], 0.85);
    EXPECT_GT(best[InfluenceProblem::most], 0.6);
    EXPECT_GT(checked, 4000);
    EXPECT_GT(certified, 2000);
}

}  // namespace
}  // namespace holdfast
