// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_OUTER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_OUTER_INL
#undef HOLDFAST_OUTER_INL
#else
#define HOLDFAST_OUTER_INL
#endif

#include <algorithm>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {
/// What the outer product may take for granted of the activations: a box of z >= 0, a point >= 0 (features),
/// a point of any sign. Scaled: nothing, and every entry is multiplied by a scale of its record's.
enum class Inputs : std::uint8_t { box, nonnegative_point, mixed_point, scaled };

/// Calls visit.operator()<inputs>().
template <typename Visit>
HWY_INLINE void with_inputs(Inputs inputs, Visit visit) {
    switch (inputs) {
        case Inputs::box:
            return visit.template operator()<Inputs::box>();
        case Inputs::nonnegative_point:
            return visit.template operator()<Inputs::nonnegative_point>();
        case Inputs::mixed_point:
            return visit.template operator()<Inputs::mixed_point>();
        case Inputs::scaled:
            return visit.template operator()<Inputs::scaled>();
    }
}

/// What the outer product needs of one layer: delta [out, height], activations [height, stride] >= 0 or a
/// point, with the factors of a factored clip already clamped and made odd.
template <typename Real>
struct Outer {
    explicit Outer(const BasicGradientGrid<Real>& gradient_grid) : grid(gradient_grid) {}

    BasicGradientGrid<Real> grid;
    std::size_t out = 0, columns = 0, stride = 0;                                        // columns: in + 1
    AlignedVector<Real> delta_lower_copy, delta_upper_copy, z_lower_copy, z_upper_copy;  // of odd factors
    const Real* delta_lower = nullptr;
    const Real* delta_upper = nullptr;
    const Real* z_lower = nullptr;
    const Real* z_upper = nullptr;
    bool point = false;  // one bound only
    Inputs inputs = Inputs::box;
    Real limit = 0;  // Gamma, a multiple of the unit; infinite where the factors were clamped instead
    const LayerScales<Real>* scales = nullptr;
    std::size_t rows = 1, persons = height;  // of a person clipped after; and how many the panel has
};

/// What is known of an entry's sign: then a clip has one limit only to hold it to.
enum class Sign : std::uint8_t { positive, negative, any };

/// make_odd of every lane.
template <typename Real>
HWY_INLINE Vec<Real> odd_lanes(Vec<Real> value) {
    const Vec<Real> one = hn::BitCast(reals<Real>, hn::Set(integers<Real>, 1));
    return hn::IfThenElse(hn::Eq(value, hn::Zero(reals<Real>)), value, hn::Or(value, one));
}
template <typename Real>
HWY_INLINE Vec<Real> odd_clamped_lanes(Vec<Real> value, Real limit) {
    return odd_lanes<Real>(
        hn::Min(hn::Max(value, hn::Set(reals<Real>, -limit)), hn::Set(reals<Real>, limit)));
}

/// Of `count` values, a multiple of the lanes.
template <typename Real>
AlignedVector<Real> odd_clamped(const Real* values, std::size_t count, Real limit) {
    AlignedVector<Real> odd(count);
    for (std::size_t i = 0; i < count; i += lanes<Real>)
        hn::StoreU(odd_clamped_lanes<Real>(hn::LoadU(reals<Real>, values + i), limit), reals<Real>,
                   odd.data() + i);
    return odd;
}

/// The greatest magnitude of `rows` rows of `count` values each, a multiple of the lanes.
template <typename Real>
Real greatest_magnitude(const Real* values, std::size_t rows, std::size_t stride, std::size_t count) {
    Vec<Real> greatest = hn::Zero(reals<Real>);
    for (std::size_t r = 0; r < rows; ++r, values += stride) {
        for (std::size_t i = 0; i < count; i += lanes<Real>)
            greatest = hn::Max(greatest, hn::Abs(hn::LoadU(reals<Real>, values + i)));
    }
    return hn::GetLane(hn::MaxOfLanes(reals<Real>, greatest));
}

/// Of `count` values, a multiple of the lanes.
template <typename Real>
bool any_negative(const Real* values, std::size_t count) {
    Vec<Real> least = hn::Zero(reals<Real>);
    for (std::size_t i = 0; i < count; i += lanes<Real>)
        least = hn::Min(least, hn::LoadU(reals<Real>, values + i));
    return !hn::AllFalse(reals<Real>, hn::Lt(least, hn::Zero(reals<Real>)));
}

template <typename Real>
Outer<Real> prepare(const OuterProduct<Real>& product) {
    const LayerShape shape = product.shape;
    const Clip& clip = product.clip;
    const BasicConstInterval<Real> delta = product.delta, z_rows = product.z_rows;
    const std::size_t stride = product.stride;
    Outer<Real> outer(clip.grid<Real>());
    outer.out = shape.out;
    outer.columns = shape.in + 1;
    outer.stride = stride;
    outer.point = product.is_point();
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    const bool factored = clip.by_factors();
    outer.limit = factored ? infinity : clip.entry_limit<Real>();
    const Real delta_limit = factored ? clip.delta_clamp<Real>() : infinity,
               activation_limit = factored ? clip.activation_clamp<Real>() : infinity;
    const auto clamped = [&](const Real* rows) {
        AlignedVector<Real> copy = odd_clamped(rows, height * stride, activation_limit);
        for (std::size_t r = 0; r < height; ++r)  // the bias's 1 and what fills the row up stay
            std::copy(rows + r * stride + shape.in, rows + (r + 1) * stride,
                      copy.data() + r * stride + shape.in);
        return copy;
    };
    outer.delta_lower = delta.lower;
    outer.delta_upper = delta.upper;
    outer.z_lower = z_rows.lower;
    outer.z_upper = z_rows.upper;
    if (factored || (clip.rows != 1 && !clip.by_scales())) {
        const auto odd_delta = [&](const Real* panel) {
            return odd_clamped(panel, height * shape.out, delta_limit);
        };
        outer.delta_lower_copy = odd_delta(delta.lower);
        outer.delta_lower = outer.delta_upper = outer.delta_lower_copy.data();
        if (!delta.is_point()) {
            outer.delta_upper_copy = odd_delta(delta.upper);
            outer.delta_upper = outer.delta_upper_copy.data();
        }
        if (clip.rows <= 1) {
            outer.z_lower_copy = clamped(z_rows.lower);
            outer.z_lower = outer.z_upper = outer.z_lower_copy.data();
            if (!z_rows.is_point()) {
                outer.z_upper_copy = clamped(z_rows.upper);
                outer.z_upper = outer.z_upper_copy.data();
            }
        }
    }
    if (z_rows.is_point() && !(factored && outer.point)) {  // then no sign matters
        outer.inputs =
            any_negative(z_rows.lower, height * stride) ? Inputs::mixed_point : Inputs::nonnegative_point;
    }
    if (clip.rows > 1) {  // whose activations are made odd as strips are loaded
        outer.rows = clip.rows;
        outer.persons = product.count / clip.rows;
    }
    outer.scales = product.scales;
    if (clip.by_scales()) outer.inputs = Inputs::scaled;
    return outer;
}

/// Of a point: what is above 0 of it meets `above`, what is below `below`. One of both is 0, and adds nothing
/// to what the other was rounded to.
template <typename V>
HWY_INLINE V add_signs(V sum, V above, V below, V z) {
    const V zero = hn::Zero(hn::DFromV<V>());
    return fused(above, hn::Max(z, zero), fused(below, hn::Min(z, zero), sum));
}

/// Entries as biased Reals: the fma rounds the exact product once, to the grid, and the clamp is between
/// points of the grid. Their bits are added as integers.
template <typename Real>
struct Elementwise {
    static constexpr bool by_factors = false;
    using Sum = IntegerVec<Real>;
    Vec<Real> bias, lowest, highest;

    explicit HWY_INLINE Elementwise(const Outer<Real>& outer)
        : bias(hn::Set(reals<Real>, outer.grid.bias())),
          lowest(hn::Set(reals<Real>, outer.grid.bias() - outer.limit)),
          highest(hn::Set(reals<Real>, outer.grid.bias() + outer.limit)) {}

    template <Sign Of = Sign::any>
    HWY_INLINE Vec<Real> clipped(Vec<Real> biased) const {
        if constexpr (Of != Sign::positive) biased = hn::Max(biased, lowest);
        if constexpr (Of != Sign::negative) biased = hn::Min(biased, highest);
        return biased;
    }
    template <Sign Of = Sign::any>
    HWY_INLINE Vec<Real> entry(Vec<Real> delta, Vec<Real> z) const {
        return clipped<Of>(fused(delta, z, bias));
    }
    HWY_INLINE Vec<Real> entry_of_signs(Vec<Real> above, Vec<Real> below, Vec<Real> z) const {
        return clipped(add_signs(bias, above, below, z));
    }

    /// entry() of one lane.
    template <Sign Of>
    HWY_INLINE Real one(Real delta, Real z) const {
        return hn::GetLane(entry<Of>(hn::Set(reals<Real>, delta), hn::Set(reals<Real>, z)));
    }

    /// Of a product of boxes, times a scale of [low, high].
    HWY_INLINE Vec<Real> scaled_least(const Vec<Real> (&products)[4], Vec<Real> low, Vec<Real> high) const {
        const Vec<Real> least = hn::Min(hn::Min(products[0], products[1]), hn::Min(products[2], products[3]));
        return clipped(hn::Min(fused(low, least, bias), fused(high, least, bias)));
    }
    HWY_INLINE Vec<Real> scaled_greatest(const Vec<Real> (&products)[4], Vec<Real> low,
                                         Vec<Real> high) const {
        const Vec<Real> greatest =
            hn::Max(hn::Max(products[0], products[1]), hn::Max(products[2], products[3]));
        return clipped(hn::Max(fused(low, greatest, bias), fused(high, greatest, bias)));
    }

    HWY_INLINE Sum zero() const { return hn::Zero(integers<Real>); }
    HWY_INLINE Sum add_entry(Sum sum, Vec<Real> entry) const {
        return hn::Add(sum, hn::BitCast(integers<Real>, entry));
    }
    template <Sign Of = Sign::any>
    HWY_INLINE Sum add(Sum sum, Vec<Real> delta, Vec<Real> z) const {
        return add_entry(sum, entry<Of>(delta, z));
    }
    HWY_INLINE Sum add_of_signs(Sum sum, Vec<Real> above, Vec<Real> below, Vec<Real> z) const {
        return add_entry(sum, entry_of_signs(above, below, z));
    }
    HWY_INLINE Sum units(Sum sum, std::size_t records) const {
        using Integer = typename RealFormat<Real>::Integer;
        using Bits = std::make_unsigned_t<Integer>;
        const Bits bits = std::bit_cast<Bits>(hn::GetLane(bias)) *
                          static_cast<Bits>(records);  // modulo 2^64 (float: 2^32), as the sum
        return hn::Sub(sum, hn::Set(integers<Real>, static_cast<Integer>(bits)));
    }
};

/// Factors are clamped and odd: an fma onto the biased sum rounds the exact product to the grid.
template <typename Real>
struct Factored {
    static constexpr bool by_factors = true;
    using Sum = Vec<Real>;
    Vec<Real> bias;

    explicit HWY_INLINE Factored(const Outer<Real>& outer) : bias(hn::Set(reals<Real>, outer.grid.bias())) {}
    HWY_INLINE Sum zero() const { return bias; }
    HWY_INLINE Sum add(Sum sum, Vec<Real> delta, Vec<Real> z) const { return fused(delta, z, sum); }
    HWY_INLINE Sum add_of_signs(Sum sum, Vec<Real> above, Vec<Real> below, Vec<Real> z) const {
        return add_signs(sum, above, below, z);
    }
    HWY_INLINE IntegerVec<Real> units(Sum sum, std::size_t) const {
        return hn::Sub(hn::BitCast(integers<Real>, sum), hn::BitCast(integers<Real>, bias));
    }
};

/// Where the activations lie that make delta z least and greatest, for one record and output.
template <typename Real, Inputs Kind>
struct Ends {
    const Real *least, *greatest;

    HWY_INLINE Ends(Real delta_lower, Real delta_upper, const Real* z_lower, const Real* z_upper)
        : least(z_lower), greatest(z_lower) {
        if constexpr (Kind == Inputs::box) {
            least = by_sign(delta_lower, z_lower, z_upper);
            greatest = by_sign(delta_upper, z_upper, z_lower);
        }
    }
};

/// The scales of the columns from `column` on, of one record: those of the weights, in the last that of the
/// bias.
template <typename Real>
class ScaleLanes {
  public:
    HWY_INLINE ScaleLanes(const Outer<Real>& outer, std::size_t column)
        : scales_(outer.scales),
          bias_(hn::Eq(hn::Iota(reals<Real>, static_cast<Real>(column)),
                       hn::Set(reals<Real>, static_cast<Real>(outer.columns - 1)))) {}
    HWY_INLINE Vec<Real> least(std::size_t record) const {
        return either(scales_->biases[record].least, scales_->weights[record].least);
    }
    HWY_INLINE Vec<Real> greatest(std::size_t record) const {
        return either(scales_->biases[record].greatest, scales_->weights[record].greatest);
    }

  private:
    HWY_INLINE Vec<Real> either(Real of_bias, Real of_weights) const {
        return hn::IfThenElse(bias_, hn::Set(reals<Real>, of_bias), hn::Set(reals<Real>, of_weights));
    }
    const LayerScales<Real>* scales_;
    hn::Mask<Tag<Real>> bias_;
};

/// The products of the ends of delta and of the activations.
template <typename Real>
struct Corners {
    Vec<Real> products[4];

    HWY_INLINE Corners(Vec<Real> lower, Vec<Real> upper, const Real* lower_at, const Real* upper_at) {
        const Vec<Real> z_lower = hn::LoadU(reals<Real>, lower_at),
                        z_upper = hn::LoadU(reals<Real>, upper_at);
        products[0] = hn::Mul(lower, z_lower);
        products[1] = hn::Mul(lower, z_upper);
        products[2] = hn::Mul(upper, z_lower);
        products[3] = hn::Mul(upper, z_upper);
    }
};

constexpr std::size_t strip_vectors = 2;

/// The activations at strip_vectors vectors of columns, records side by side: no line of it drives another
/// out of the cache, however long the rows are. A selection's threads take turns by strips.
template <typename Real>
class Strip {
  public:
    static constexpr std::size_t width = strip_vectors * lanes<Real>;
    static std::size_t count(const Outer<Real>& outer) { return (outer.columns + width - 1) / width; }

    void load(const Outer<Real>& outer, std::size_t strip) {
        const std::size_t column = strip * width;
        columns_ = std::min(width, outer.stride - column);
        const bool odd = outer.rows > 1;
        const std::size_t bias = outer.columns - 1;
        const auto copy = [&](const Real* z, Real* to) HWY_ATTR {
            for (std::size_t r = 0; r < height; ++r, z += outer.stride, to += width) {
                for (std::size_t c = 0; c < columns_; c += lanes<Real>) {
                    const Vec<Real> value = hn::LoadU(reals<Real>, z + column + c);
                    hn::Store(odd ? odd_lanes<Real>(value) : value, reals<Real>, to + c);
                }
                if (odd && column <= bias && bias < column + columns_) to[bias - column] = z[bias];  // 1
            }
        };
        copy(outer.z_lower, lower_);
        is_point_ = outer.z_upper == outer.z_lower;
        if (!is_point_) copy(outer.z_upper, upper_);
    }
    /// [height, width]
    const Real* lower() const { return lower_; }
    const Real* upper() const { return is_point_ ? lower_ : upper_; }
    Real greatest_magnitude() const {
        const auto of = [&](const Real* z) {
            return HWY_NAMESPACE::greatest_magnitude(z, height, width, columns_);
        };
        return std::max(of(lower()), of(upper()));
    }

  private:
    alignas(64) Real lower_[height * width];
    alignas(64) Real upper_[height * width];
    std::size_t columns_ = 0;
    bool is_point_ = false;
};

/// Fetches what flush() will want of rows [first, last) at `count` columns: lines a row apart, where no
/// processor looks by itself.
HWY_INLINE void prefetch_rows(const std::int64_t* sums, std::size_t columns, std::size_t first,
                              std::size_t last, std::size_t column, std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(std::int64_t);
    for (std::size_t row = first; row < last; ++row) {
        const std::int64_t* at = sums + row * columns + column;
        for (std::size_t i = 0; i < count; i += line) __builtin_prefetch(at + i, 1);
        __builtin_prefetch(at + count - 1, 1);
    }
}

/// Adds to neighbouring columns of the int64 sums; the last columns of a row may be fewer than a vector.
template <typename Real>
HWY_INLINE void flush(IntegerVec<Real> units, std::int64_t* sums, std::size_t count) {
    alignas(64) typename RealFormat<Real>::Integer buffer[lanes<Real>];
    hn::Store(units, integers<Real>, buffer);
    if (count >= lanes<Real>) {
        for (std::size_t i = 0; i < lanes<Real>; ++i) sums[i] += buffer[i];
    } else {
        for (std::size_t i = 0; i < count; ++i) sums[i] += buffer[i];
    }
}

/// Of neighbouring vectors, what a rule summed over `records`; `columns` are left in the row.
template <typename Real, typename Rule, std::size_t Columns>
HWY_INLINE void flush_row(const Rule& rule, const typename Rule::Sum (&row)[Columns], std::size_t records,
                          std::int64_t* sums, std::size_t columns) {
    for (std::size_t c = 0; c < Columns; ++c)
        flush<Real>(rule.units(row[c], records), sums + c * lanes<Real>, columns - c * lanes<Real>);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
