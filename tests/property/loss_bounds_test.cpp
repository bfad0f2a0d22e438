// Bounds of a loss over intervals of logits (models/mathematics.md, certified loss) against the exact loss.

#include "models/certify/loss_bounds.hpp"
#include "tests/support/effort.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace holdfast {
namespace {

/// A real number of 300 bits.
class Real {
  public:
    Real(double value) : Real() { mpfr_set_d(value_, value, MPFR_RNDN); }  // NOLINT
    Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
    Real& operator=(const Real& other) {
        mpfr_set(value_, other.value_, MPFR_RNDN);
        return *this;
    }
    ~Real() { mpfr_clear(value_); }
    friend Real operator+(const Real& a, const Real& b) { return of(a, b, mpfr_add); }
    friend Real operator-(const Real& a, const Real& b) { return of(a, b, mpfr_sub); }
    friend Real operator*(const Real& a, const Real& b) { return of(a, b, mpfr_mul); }
    friend Real exp(const Real& a) {
        Real result;
        mpfr_exp(result.value_, a.value_, MPFR_RNDN);
        return result;
    }
    friend Real log1p(const Real& a) {
        Real result;
        mpfr_log1p(result.value_, a.value_, MPFR_RNDN);
        return result;
    }
    friend bool operator<=(double a, const Real& b) { return mpfr_cmp_d(b.value_, a) >= 0; }
    friend bool operator<=(const Real& a, double b) { return mpfr_cmp_d(a.value_, b) <= 0; }
    double value() const { return mpfr_get_d(value_, MPFR_RNDN); }

  private:
    Real() { mpfr_init2(value_, 300); }
    static Real of(const Real& a, const Real& b,
                   int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)) {
        Real result;
        operation(result.value_, a.value_, b.value_, MPFR_RNDN);
        return result;
    }
    mpfr_t value_;
};

Real of_margin(Loss loss, const Real& margin) {
    if (loss == Loss::hinge) return margin <= 1.0 ? Real(1) - margin : Real(0);
    if (loss == Loss::huber) {
        if (margin <= 0.5) return Real(1) - margin;
        if (!(margin <= 1.5)) return 0;
        return (Real(1.5) - margin) * (Real(1.5) - margin) * Real(0.5);
    }
    return log1p(exp(Real(0) - margin));
}

Real exact_loss(Loss loss, const std::vector<double>& logits, double target) {
    if (loss == Loss::squared_error) return (Real(logits[0]) - target) * (Real(logits[0]) - target);
    const auto label = static_cast<std::size_t>(target);
    if (info_of(loss).one_logit) return of_margin(loss, label == 1 ? Real(logits[0]) : Real(-logits[0]));
    Real sum = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        if (loss == Loss::one_vs_rest)
            sum = sum + of_margin(loss, c == label ? Real(logits[c]) : Real(-logits[c]));
        else if (c != label)
            sum = sum + exp(Real(logits[c]) - logits[label]);
    }
    return loss == Loss::cross_entropy ? log1p(sum) : sum;
}

/// Intervals of logits, some of them points, and a target.
struct Draw {
    std::vector<double> lower, upper;
    double target;
};

Draw draw(std::mt19937_64& engine, Loss loss) {
    std::normal_distribution<double> normal;
    const std::size_t outputs = info_of(loss).one_logit ? 1 : 2 + engine() % 4;
    const double size = std::ldexp(1.0, static_cast<int>(engine() % 24) - 12);
    Draw drawn;
    for (std::size_t c = 0; c < outputs; ++c) {
        const double a = size * normal(engine), b = engine() % 4 == 0 ? a : a + size * normal(engine);
        drawn.lower.push_back(std::min(a, b));
        drawn.upper.push_back(std::max(a, b));
    }
    drawn.target = info_of(loss).of_numbers
                       ? size * normal(engine)
                       : static_cast<double>(engine() % std::max<std::size_t>(2, outputs));
    return drawn;
}

TEST(LossBounds, HoldTheExactLossOfEveryPointAndAreTight) {
    std::mt19937_64 engine(5);
    for (const LossInfo& info : losses()) {
        for (std::uint64_t i = 0; i < cases_of(500); ++i) {
            const Draw drawn = draw(engine, info.loss);
            const LossBounds bounds = loss_bounds(info.loss, drawn.lower, drawn.upper, drawn.target);
            ASSERT_LE(0, bounds.best);
            double least = HUGE_VAL, greatest = 0;
            for (int place = 0; place < 40; ++place) {
                std::vector<double> point;
                for (std::size_t c = 0; c < drawn.lower.size(); ++c) {
                    const double part = place < 32 ? static_cast<double>(place >> c & 1)
                                                   : std::uniform_real_distribution<double>()(engine);
                    point.push_back(std::clamp(drawn.lower[c] + part * (drawn.upper[c] - drawn.lower[c]),
                                               drawn.lower[c], drawn.upper[c]));
                }
                if (place == 39 && info.of_numbers)
                    point[0] = std::clamp(drawn.target, drawn.lower[0], drawn.upper[0]);
                const Real exact = exact_loss(info.loss, point, drawn.target);
                ASSERT_TRUE(bounds.best <= exact) << info.name << " " << exact.value() << " " << bounds.best;
                ASSERT_TRUE(exact <= bounds.worst)
                    << info.name << " " << exact.value() << " " << bounds.worst;
                least = std::min(least, exact.value());
                greatest = std::max(greatest, exact.value());
            }
            ASSERT_NEAR(bounds.best, least, 1e-12 * (1 + least)) << info.name;
            ASSERT_NEAR(bounds.worst, greatest, 1e-12 * (1 + greatest)) << info.name;
        }
    }
}

TEST(LossBounds, OfLogitsOfAnySizeAreNumbers) {
    for (const LossInfo& info : losses()) {
        for (const double size : {0.0, 1e-320, 1e-5, 700.0, 1e4, 1e90}) {
            const std::size_t outputs = info.one_logit ? 1 : 3;
            const std::vector<double> lower(outputs, -size), upper(outputs, size);
            const LossBounds bounds = loss_bounds(info.loss, lower, upper, 1);
            ASSERT_TRUE(std::isfinite(bounds.worst)) << info.name << " " << size;
            ASSERT_LE(0, bounds.best);
            ASSERT_LE(bounds.best, bounds.worst);
        }
    }
}

TEST(LossBounds, OfAMeanHoldTheMean) {
    std::mt19937_64 engine(6);
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        std::vector<LossBounds> records;
        Real best = 0, worst = 0;
        double surely = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Draw drawn = draw(engine, Loss::cross_entropy);
            records.push_back(loss_bounds(Loss::cross_entropy, drawn.lower, drawn.upper, drawn.target));
            best = best + records.back().best;
            worst = worst + records.back().worst;
            surely += records.back().surely;
            ASSERT_LE(records.back().surely, records.back().possibly);
        }
        const LossBounds mean = mean_of(records);
        const auto number = static_cast<double>(count);
        EXPECT_TRUE(mean.best * number <= best * Real(1 + 1e-15));
        EXPECT_TRUE(Real(mean.worst) * Real(number) - worst <= 1e-9 * (1 + worst.value()));
        EXPECT_TRUE(0.0 <= Real(mean.worst) * Real(number) - worst);
        EXPECT_TRUE(0.0 <= best - Real(mean.best) * Real(number));
        EXPECT_EQ(mean.surely, surely / number);
    }
    EXPECT_EQ(mean_of({}).worst, 0);
}

}  // namespace
}  // namespace holdfast
