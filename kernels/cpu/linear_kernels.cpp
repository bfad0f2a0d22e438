// Whole steps of linear networks, compiled once an instruction set (Highway), with records in the lanes
// throughout: a group of records is read once, transposed in registers, and stays in the cache until its
// gradients are added.

#include "kernels/cpu/linear_kernels.hpp"

#include <algorithm>

#include "kernels/cpu/targets.hpp"
#include "kernels/ops/correct_rule.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/ops/row_weight.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/features-inl.hpp"
#include "kernels/cpu/loss-inl.hpp"
#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Records of a group, in `width` vectors.
template <typename Real>
constexpr std::size_t group = tile<Real>;
/// Records after which sums are brought home: a lane adds no more of them than its format allows.
template <typename Real>
constexpr std::size_t records_of_sums =
    std::min(linear_block, lanes<Real>* static_cast<std::size_t>(BasicGradientGrid<Real>::block_limit));
static_assert(records_of_sums<float> % group<float> == 0 && records_of_sums<double> % group<double> == 0);

/// The steps of one block of records.
template <typename Rule, typename Real>
class LinearPass {
  public:
    HWY_INLINE LinearPass(const LinearBlock<Real>& block, LinearBuffers<Real>& buffers)
        : block_(block),
          buffers_(buffers),
          in_(block.layer.shape.in),
          out_(block.layer.shape.out),
          rule_(outer_of(block.clip)),
          clamps_(reaches_in(block.clip, block.network.input)) {
        buffers.columns.resize(in_ * group<Real>);
        buffers.logits.resize(out_ * group<Real>);
        buffers.deltas.resize(out_ * group<Real>);
        buffers.sums.resize((in_ + 1) * out_ * lanes<Real>);
    }

    HWY_INLINE void run() {
        if (block_.records.wide_features != nullptr) return run_on(block_.records.wide_features);
        run_on(block_.records.features);
    }

  private:
    static HWY_INLINE Outer<Real> outer_of(const Clip& clip) {
        Outer<Real> outer(clip.grid<Real>());
        outer.limit = static_cast<Real>(clip.weight_units<Real>()) * outer.grid.unit();
        return outer;
    }

    template <typename Feature>
    HWY_INLINE void run_on(const Feature* features) {
        const InputTransform& input = block_.network.input;
        if (Clamp<Real, Feature>::serves(input)) return run_with(features, Clamp<Real, Feature>(input));
        run_with(features, Transform<Real, Feature>(input));
    }
    template <typename Feature, typename Map>
    HWY_INLINE void run_with(const Feature* features, const Map& map) {
        const ColumnLoader<Real, Feature, Map, group<Real>> loader(map, features, in_);
        find(0, ahead_);
        for (std::size_t start = 0; start < block_.indices.size(); start += records_of_sums<Real>) {
            const std::size_t end = std::min(start + records_of_sums<Real>, block_.indices.size());
            for (std::size_t i = 0; i < buffers_.sums.size(); i += lanes<Real>)
                store_sum(rule_.zero(), buffers_.sums.data() + i);
            for (std::size_t first = start; first < end; first += group<Real>) {
                count_ = std::min(group<Real>, end - first);
                std::copy_n(ahead_, group<Real>, rows_);
                find(first + group<Real>, ahead_);
                for (std::size_t r = 0; r < group<Real>; r += side)
                    loader.load(rows_ + r, ahead_ + r, buffers_.columns.data() + r);
                forward();
                derivatives(first);
                if (block_.clip.kind == Clip::Kind::norm) {
                    clip_records();
                } else if (block_.clip.part != 1) {  // as panels do it
                    weigh_rows(out_ * group<Real>,
                               Rule::by_factors ? block_.clip.template delta_clamp<Real>()
                                                : RealFormat<Real>::saturation,
                               block_.clip.part, buffers_.deltas.data());
                }
                outer();
            }
            bring_home((end - start + group<Real> - 1) / group<Real> * width);
        }
    }

    /// Where the features of a group of records begin; of what there is none, those of some record.
    void find(std::size_t first, std::size_t* rows) const {
        const std::size_t last = block_.indices.size() - 1;
        if (first + group<Real> <= last + 1) {
            for (std::size_t r = 0; r < group<Real>; ++r) rows[r] = block_.indices[first + r] * in_;
        } else {
            for (std::size_t r = 0; r < group<Real>; ++r)
                rows[r] = block_.indices[std::min(first + r, last)] * in_;
        }
    }

    /// slots: records that a lane has added.
    HWY_INLINE void bring_home(std::size_t slots) {
        for (std::size_t j = 0; j <= in_; ++j) {
            for (std::size_t o = 0; o < out_; ++o) {
                const Real* sum = buffers_.sums.data() + (j * out_ + o) * lanes<Real>;
                block_.sums[o * (in_ + 1) + j] += total(rule_.units(load_sum(sum), slots));
            }
        }
    }

    void forward() {
        std::size_t o = 0;
        for (; o + 4 <= out_; o += 4) forward_tile<4>(o);
        for (; o < out_; ++o) forward_tile<1>(o);
    }
    template <std::size_t Rows>
    HWY_INLINE void forward_tile(std::size_t row) {
        const std::size_t step = in_ + 1;
        const Real* weights = block_.layer.lower + row * step;
        const Real* columns = buffers_.columns.data();
        Vec<Real> sums[Rows][width];
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t v = 0; v < width; ++v)
                sums[o][v] = hn::Set(reals<Real>, weights[o * step + in_]);
        }
        for (std::size_t j = 0; j < in_; ++j) {
            for (std::size_t o = 0; o < Rows; ++o) {
                const Vec<Real> weight = hn::Set(reals<Real>, weights[o * step + j]);
                for (std::size_t v = 0; v < width; ++v)
                    sums[o][v] =
                        fused(weight, hn::Load(reals<Real>, columns + j * group<Real> + v * lanes<Real>),
                              sums[o][v]);
            }
        }
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t v = 0; v < width; ++v)
                hn::Store(sums[o][v], reals<Real>,
                          buffers_.logits.data() + (row + o) * group<Real> + v * lanes<Real>);
        }
    }

    void derivatives(std::size_t first) {
        const Real* logits = buffers_.logits.data();
        const std::int32_t* labels = block_.records.labels;
        for (std::size_t r = 0; r < count_; ++r) {
            labels_[r] = labels == nullptr ? 0 : labels[block_.indices[first + r]];
            targets_[r] = block_.records.target(block_.indices[first + r]);
        }
        std::int32_t correct = 0;
        for (std::size_t r = 0; r < count_; ++r) {
            correct +=
                correct_of(out_, static_cast<std::size_t>(labels_[r]), logits + r, logits + r, group<Real>)
                    .surely;
        }
        block_.correct += correct * (block_.records.rows_of_persons ? weight_units(block_.clip.part) : 1);
        for (std::size_t o = 0; o < out_; ++o) {
            Real* deltas = buffers_.deltas.data() + o * group<Real>;
            for (std::size_t r = 0; r < group<Real>; r += side)
                derivative_lanes(block_.network.loss, out_, o, targets_ + r, logits + r, group<Real>,
                                 deltas + r);
            std::fill(deltas + count_, deltas + group<Real>, Real{0});
        }
    }

    /// NormRule::scale_of() the square of each record's gradient.
    void clip_records() {
        const Vec<double> one = hn::Set(reals<double>, 1.0), part = hn::Set(reals<double>, block_.clip.part),
                          inside = hn::Set(reals<double>,
                                           NormRule<Real>::inside(block_.clip, block_.network.parameters()));
        Vec<double> delta_squares[parts], z_squares[parts];
        for (std::size_t p = 0; p < parts; ++p) {
            delta_squares[p] = hn::Zero(reals<double>);
            z_squares[p] = one;
        }
        add_squares(out_, buffers_.deltas.data(), delta_squares);
        add_squares(in_, buffers_.columns.data(), z_squares);
        for (std::size_t p = 0; p < parts; ++p) {
            const Vec<double> norm = hn::Sqrt(hn::Mul(delta_squares[p], z_squares[p]));
            const Vec<double> scale =
                hn::IfThenElse(hn::Gt(hn::Mul(norm, part), inside), hn::Div(inside, norm), part);
            for (std::size_t o = 0; o < out_; ++o) {
                Real* delta = buffers_.deltas.data() + o * group<Real> + p * side;
                store_narrow(hn::Mul(load_wide(delta), scale), delta);
            }
        }
    }
    static constexpr std::size_t parts = group<Real> / side;  // of a group, in vectors of doubles
    static HWY_INLINE void add_squares(std::size_t rows, const Real* values, Vec<double> (&sums)[parts]) {
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t p = 0; p < parts; ++p) {
                const Vec<double> value = load_wide(values + row * group<Real> + p * side);
                sums[p] = fused(value, value, sums[p]);
            }
        }
    }

    void outer() { clamps_ ? outer_tiles<true>() : outer_tiles<false>(); }
    template <bool Clamps>
    HWY_INLINE void outer_tiles() {
        std::size_t o = 0;
        for (; o + 2 <= out_; o += 2) outer_tile<2, Clamps>(o);
        for (; o < out_; ++o) outer_tile<1, Clamps>(o);
    }
    template <std::size_t Rows, bool Clamps>
    HWY_INLINE void outer_tile(std::size_t row) {
        const Real delta_limit = block_.clip.template delta_clamp<Real>(),
                   activation_limit = block_.clip.template activation_clamp<Real>();
        Vec<Real> delta[Rows][width];
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t v = 0; v < width; ++v)
                delta[o][v] = factor<true>(buffers_.deltas.data() + (row + o) * group<Real> + v * lanes<Real>,
                                           delta_limit);
        }
        const Real* columns = buffers_.columns.data();
        Real* sums = buffers_.sums.data() + row * lanes<Real>;
        Vec<Real> z[width];
        for (std::size_t j = 0; j < in_; ++j) {
            for (std::size_t v = 0; v < width; ++v)
                z[v] = factor<Clamps>(columns + j * group<Real> + v * lanes<Real>, activation_limit);
            add_products<Rows>(delta, z, sums + j * out_ * lanes<Real>);
        }
        for (std::size_t v = 0; v < width; ++v) z[v] = hn::Set(reals<Real>, Real{1});
        add_products<Rows>(delta, z, sums + in_ * out_ * lanes<Real>);
    }
    template <std::size_t Rows>
    HWY_INLINE void add_products(const Vec<Real> (&delta)[Rows][width], const Vec<Real> (&z)[width],
                                 Real* sums) const {
        for (std::size_t o = 0; o < Rows; ++o) {
            typename Rule::Sum sum = load_sum(sums + o * lanes<Real>);
            for (std::size_t v = 0; v < width; ++v) sum = rule_.add(sum, delta[o][v], z[v]);
            store_sum(sum, sums + o * lanes<Real>);
        }
    }
    /// Of a clip by factors, clamped and made odd.
    template <bool Clamps>
    static HWY_INLINE Vec<Real> factor(const Real* values, Real limit) {
        const Vec<Real> value = hn::Load(reals<Real>, values);
        if constexpr (!Rule::by_factors) return value;
        return Clamps ? odd_clamped_lanes<Real>(value, limit) : odd_lanes<Real>(value);
    }

    /// Does the clip reach into the public range of what the network sees? That is monotone in the feature.
    static bool reaches_in(const Clip& clip, const InputTransform& input) {
        const Real limit = clip.activation_clamp<Real>();
        const auto beyond = [&](double feature) { return std::abs(input.apply<Real>(feature)) > limit; };
        return clip.by_factors() && (beyond(input.range.low) || beyond(input.range.high));
    }

    static HWY_INLINE typename Rule::Sum load_sum(const Real* at) {
        return hn::BitCast(hn::DFromV<typename Rule::Sum>(), hn::Load(reals<Real>, at));
    }
    static HWY_INLINE void store_sum(typename Rule::Sum sum, Real* at) {
        hn::Store(hn::BitCast(reals<Real>, sum), reals<Real>, at);
    }
    static HWY_INLINE std::int64_t total(IntegerVec<Real> units) {
        alignas(64) typename RealFormat<Real>::Integer buffer[lanes<Real>];
        hn::Store(units, integers<Real>, buffer);
        std::int64_t sum = 0;
        for (const auto of_lane : buffer) sum += of_lane;
        return sum;
    }

    const LinearBlock<Real>& block_;
    LinearBuffers<Real>& buffers_;
    std::size_t in_, out_, count_ = 0;
    Rule rule_;
    bool clamps_;
    std::size_t rows_[group<Real>], ahead_[group<Real>];
    std::int32_t labels_[group<Real>] = {};
    double targets_[group<Real>] = {};
};

template <typename Real>
void add_block(const LinearBlock<Real>& block, LinearBuffers<Real>& buffers) {
    if (block.clip.by_factors()) return LinearPass<Factored<Real>, Real>(block, buffers).run();
    LinearPass<Elementwise<Real>, Real>(block, buffers).run();
}

void AddLinearInDouble(const LinearBlock<double>& block, LinearBuffers<double>& buffers) {
    add_block(block, buffers);
}
void AddLinearInSingle(const LinearBlock<float>& block, LinearBuffers<float>& buffers) {
    add_block(block, buffers);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(AddLinearInDouble);
HWY_EXPORT(AddLinearInSingle);

template <>
void add_linear(const LinearBlock<double>& block, LinearBuffers<double>& buffers) {
    HWY_DYNAMIC_DISPATCH(AddLinearInDouble)(block, buffers);
}
template <>
void add_linear(const LinearBlock<float>& block, LinearBuffers<float>& buffers) {
    HWY_DYNAMIC_DISPATCH(AddLinearInSingle)(block, buffers);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
