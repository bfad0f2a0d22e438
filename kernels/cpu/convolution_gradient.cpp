// The sums of a convolution's clipped gradients, compiled once an instruction set (Highway), with records in
// the lanes: of one vector of records at a time, deltas and the image are gathered to where a window finds
// its neighbours, with zeros around the image (adding a product with 0 changes no value).

#include <algorithm>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution_gradient.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// What is known of the factors: they are points; the image is one, of any sign; boxes, of z >= 0.
enum class Factors : std::uint8_t { points, point_image, boxes };

/// Neighbouring channels out, of one group, whose deltas a tap meets together.
struct Block {
    std::size_t first, count;
};
constexpr std::size_t block_channels = 4;

/// Whole blocks of block_channels, then channels one by one.
inline std::vector<Block> blocks_of(const Convolution& convolution, std::size_t out) {
    const std::size_t of_group = out / convolution.groups;
    std::vector<Block> blocks;
    for (std::size_t first = 0; first < out; first += of_group) {
        for (std::size_t at = 0; at < of_group; at += blocks.back().count)
            blocks.push_back({first + at, of_group - at < block_channels ? 1 : block_channels});
    }
    return blocks;
}

template <typename Real, Factors Kind>
class Gradient {
  public:
    explicit Gradient(const ConvolutionProduct<Real>& product)
        : product_(product),
          window_(product.convolution.window),
          image_(product.convolution.input),
          positions_(window_.over(image_, 1)),
          padded_{image_.channels, image_.height + 2 * window_.padding, image_.width + 2 * window_.padding},
          channels_(image_.channels / product.convolution.groups),
          columns_(product.shape.in + 1),
          bias_(product.clip.template grid<Real>().bias()),
          limit_(product.clip.template entry_limit<Real>()),
          z_lower_(padded_.rows() * lanes<Real>, Real{0}),
          z_upper_(Kind == Factors::boxes ? z_lower_.size() : 0, Real{0}),
          delta_lower_(block_channels * positions_.rows() * lanes<Real>),
          delta_upper_(sides == 1 ? 0 : delta_lower_.size()),
          entries_(sides * block_channels * columns_ * lanes<Real>),
          units_(entries_.size()) {
        for (std::size_t r = 0; product.scales != nullptr && r < height; ++r)
            scales_.push_back(rounded_down<Real>(product.scales[r]));
    }

    void add(SumBounds sums) {
        if (product_.clip.rows > 1) return add_persons(sums);
        const std::vector<Block> blocks = blocks_of(product_.convolution, product_.shape.out);
        AlignedVector<Integer> totals(sides * product_.shape.parameters() * lanes<Real>, 0);
        const auto of = [&](Block block) {
            return totals.data() + sides * block.first * columns_ * lanes<Real>;
        };
        for (std::size_t record = 0; record < height; record += lanes<Real>) {
            gather_image(record);
            for (const Block block : blocks) {
                compute(block, record);
                round(block, record);
                add_units(block, of(block));
            }
        }
        for (const Block block : blocks) flush(block, of(block), sums);
    }

    void add_squares(double* squares) {
        const std::vector<Block> blocks = blocks_of(product_.convolution, product_.shape.out);
        for (std::size_t record = 0; record < height; record += lanes<Real>) {
            gather_image(record);
            for (const Block block : blocks) {
                compute(block, record);
                for (std::size_t r = 0; r < lanes<Real>; r += lanes<double>) {
                    if (block.count == block_channels) {
                        add_squares_of<block_channels>(r, squares + record + r);
                    } else {
                        add_squares_of<1>(r, squares + record + r);
                    }
                }
            }
        }
    }

    /// Rows that are clipped after: what the lanes have of a person is added, lane by lane, and clamped.
    void add_persons(SumBounds sums) {
        const std::vector<Block> blocks = blocks_of(product_.convolution, product_.shape.out);
        std::vector<std::int64_t> persons(sides * product_.shape.parameters());
        for (std::size_t record = 0; record < product_.count; record += lanes<Real>) {
            gather_image(record);
            for (const Block block : blocks) {
                compute(block, record);
                round(block, record);
                add_rows(block, record, persons.data() + sides * block.first * columns_, sums);
            }
        }
    }

    void add_and_select(SumBounds sums, const SelectionTarget& target) {
        const std::vector<Block> blocks = blocks_of(product_.convolution, product_.shape.out);
        target.least.upper.for_each_stripe(blocks.size(), [&](std::size_t stripe) {
            const Block block = blocks[stripe];
            AlignedVector<Integer> totals(units_.size(), 0);
            for (std::size_t record = 0; record < product_.count; record += lanes<Real>) {
                gather_image(record);
                compute(block, record);
                round(block, record);
                add_units(block, totals.data());
                select(block, std::min(lanes<Real>, product_.count - record), target);
            }
            flush(block, totals.data(), sums);
        });
    }

  private:
    using Integer = typename RealFormat<Real>::Integer;
    static constexpr std::size_t sides = Kind == Factors::points ? 1 : 2;
    static constexpr std::size_t block_taps = Kind == Factors::boxes ? 2 : 4;

    static void gather(const Real* panel, std::size_t record, std::size_t row, Real* to) {
        hn::Store(hn::Load(reals<Real>, panel + row * height + record), reals<Real>, to);
    }

    /// z_lower_, z_upper_ [channels, padded pixels, lanes]; what is beside the image stays 0.
    void gather_image(std::size_t record) {
        std::size_t row = 0;
        for (std::size_t c = 0; c < image_.channels; ++c) {
            for (std::size_t y = 0; y < image_.height; ++y) {
                const std::size_t first =
                    (c * padded_.height + y + window_.padding) * padded_.width + window_.padding;
                for (std::size_t x = 0; x < image_.width; ++x, ++row) {
                    gather(product_.z.lower, record, row, z_lower_.data() + (first + x) * lanes<Real>);
                    if constexpr (Kind == Factors::boxes)
                        gather(product_.z.upper, record, row, z_upper_.data() + (first + x) * lanes<Real>);
                }
            }
        }
    }

    /// entries_ [sides, channels of the block, columns, lanes] of so many records: before they are clipped.
    void compute(Block block, std::size_t record) {
        for (std::size_t row = 0; row < block.count * positions_.rows(); ++row) {
            const std::size_t from = block.first * positions_.rows() + row;
            gather(product_.delta.lower, record, from, delta_lower_.data() + row * lanes<Real>);
            if constexpr (sides == 2)
                gather(product_.delta.upper, record, from, delta_upper_.data() + row * lanes<Real>);
        }
        const std::size_t of_group = product_.shape.out / product_.convolution.groups,
                          first_channel = block.first / of_group * channels_;
        for (std::size_t c = 0; c < channels_; ++c) {
            for (std::size_t tap_y = 0; tap_y < window_.height; ++tap_y) {
                const auto sweep = [&]<std::size_t Channels>() {
                    const std::size_t column = (c * window_.height + tap_y) * window_.width;
                    std::size_t tap_x = 0;
                    for (; tap_x + block_taps <= window_.width; tap_x += block_taps)
                        compute_tile<Channels, block_taps>(first_channel + c, tap_y, tap_x, column + tap_x);
                    for (; tap_x < window_.width; ++tap_x)
                        compute_tile<Channels, 1>(first_channel + c, tap_y, tap_x, column + tap_x);
                };
                if (block.count == block_channels) {
                    sweep.template operator()<block_channels>();
                } else {
                    sweep.template operator()<1>();
                }
            }
        }
        for (std::size_t o = 0; o < block.count; ++o) {
            Vec<Real> least = hn::Zero(reals<Real>), greatest = least;
            for (std::size_t p = o * positions_.rows(); p < (o + 1) * positions_.rows(); ++p) {
                least = hn::Add(least, hn::Load(reals<Real>, delta_lower_.data() + p * lanes<Real>));
                if constexpr (sides == 2)
                    greatest =
                        hn::Add(greatest, hn::Load(reals<Real>, delta_upper_.data() + p * lanes<Real>));
            }
            store(0, block.count, o, columns_ - 1, least);
            if constexpr (sides == 2) store(1, block.count, o, columns_ - 1, greatest);
        }
    }

    /// The sums of `Channels` channels of the block and `Taps` taps of a row, in registers over all
    /// positions.
    template <std::size_t Channels, std::size_t Taps>
    HWY_INLINE void compute_tile(std::size_t channel, std::size_t tap_y, std::size_t tap_x,
                                 std::size_t column) {
        Vec<Real> least[Channels][Taps], greatest[Channels][Taps];
        for (std::size_t o = 0; o < Channels; ++o) {
            for (std::size_t t = 0; t < Taps; ++t) least[o][t] = greatest[o][t] = hn::Zero(reals<Real>);
        }
        const std::size_t corner =
            (channel * padded_.height + tap_y * window_.dilation) * padded_.width + tap_x * window_.dilation;
        const std::size_t next_tap = window_.dilation * lanes<Real>,
                          next_channel = positions_.rows() * lanes<Real>;
        const Real* lower = delta_lower_.data();
        const Real* upper = delta_upper_.data();
        for (std::size_t y = 0; y < positions_.height; ++y) {
            std::size_t at = (corner + y * window_.stride * padded_.width) * lanes<Real>;
            for (std::size_t x = 0; x < positions_.width; ++x) {
                Vec<Real> low[Channels], high[Channels];
                for (std::size_t o = 0; o < Channels; ++o) {
                    low[o] = hn::Load(reals<Real>, lower + o * next_channel);
                    if constexpr (sides == 2) high[o] = hn::Load(reals<Real>, upper + o * next_channel);
                }
                for (std::size_t t = 0; t < Taps; ++t) {
                    const Vec<Real> z = hn::Load(reals<Real>, z_lower_.data() + at + t * next_tap);
                    Vec<Real> z_high = z;
                    if constexpr (Kind == Factors::boxes)
                        z_high = hn::Load(reals<Real>, z_upper_.data() + at + t * next_tap);
                    for (std::size_t o = 0; o < Channels; ++o) {
                        if constexpr (Kind == Factors::points) {
                            least[o][t] = fused(low[o], z, least[o][t]);
                        } else if constexpr (Kind == Factors::point_image) {
                            const Vec<Real> a = least[o][t], b = greatest[o][t];
                            least[o][t] = hn::Min(fused(low[o], z, a), fused(high[o], z, a));
                            greatest[o][t] = hn::Max(fused(low[o], z, b), fused(high[o], z, b));
                        } else {
                            least[o][t] =
                                fused(low[o], hn::IfNegativeThenElse(low[o], z_high, z), least[o][t]);
                            greatest[o][t] =
                                fused(high[o], hn::IfNegativeThenElse(high[o], z, z_high), greatest[o][t]);
                        }
                    }
                }
                lower += lanes<Real>;
                if constexpr (sides == 2) upper += lanes<Real>;
                at += window_.stride * lanes<Real>;
            }
        }
        for (std::size_t o = 0; o < Channels; ++o) {
            for (std::size_t t = 0; t < Taps; ++t) {
                store(0, Channels, o, column + t, least[o][t]);
                if constexpr (sides == 2) store(1, Channels, o, column + t, greatest[o][t]);
            }
        }
    }

    HWY_INLINE void store(std::size_t side, std::size_t channels, std::size_t o, std::size_t column,
                          Vec<Real> sum) {
        hn::Store(sum, reals<Real>,
                  entries_.data() + ((side * channels + o) * columns_ + column) * lanes<Real>);
    }

    /// units_ of entries_: rounded to the grid, and clamped or by the scales of their records.
    void round(Block block, std::size_t record) {
        const Vec<Real> at_zero = hn::Set(reals<Real>, bias_);
        const Vec<Real> lowest = hn::Set(reals<Real>, bias_ - limit_),
                        highest = hn::Set(reals<Real>, bias_ + limit_);
        const bool scaled = !scales_.empty();
        const Vec<Real> scale = scaled ? hn::Load(reals<Real>, scales_.data() + record) : at_zero;
        for (std::size_t i = 0; i < sides * block.count * columns_ * lanes<Real>; i += lanes<Real>) {
            const Vec<Real> sum = hn::Load(reals<Real>, entries_.data() + i);
            const Vec<Real> entry = scaled ? fused(scale, saturated_lanes<Real>(sum), at_zero)
                                           : hn::Min(hn::Max(hn::Add(at_zero, sum), lowest), highest);
            hn::Store(hn::Sub(hn::BitCast(integers<Real>, entry), hn::BitCast(integers<Real>, at_zero)),
                      integers<Real>, units_.data() + i);
        }
    }

    /// Of the records from lane `first` on: the squares of a block's channels, one after the other.
    template <std::size_t Channels>
    void add_squares_of(std::size_t first, double* squares) const {
        Vec<double> of_channel[Channels];
        for (Vec<double>& square : of_channel) square = hn::Zero(reals<double>);
        for (std::size_t column = 0; column < columns_; ++column) {
            for (std::size_t o = 0; o < Channels; ++o) {
                const Real* entry = entries_.data() + (o * columns_ + column) * lanes<Real> + first;
                const Vec<double> sum = saturated_wide(load_wide(entry));
                of_channel[o] = fused(sum, sum, of_channel[o]);
            }
        }
        Vec<double> sum = hn::LoadU(reals<double>, squares);
        for (const Vec<double>& square : of_channel) sum = hn::Add(sum, square);
        hn::StoreU(sum, reals<double>, squares);
    }
    static Vec<double> saturated_wide(Vec<double> values) {
        constexpr double limit = RealFormat<Real>::saturation;
        return hn::Min(hn::Max(values, hn::Set(reals<double>, -limit)), hn::Set(reals<double>, limit));
    }

    void add_units(Block block, Integer* totals) const {
        for (std::size_t i = 0; i < sides * block.count * columns_ * lanes<Real>; i += lanes<Real>)
            hn::Store(
                hn::Add(hn::Load(integers<Real>, totals + i), hn::Load(integers<Real>, units_.data() + i)),
                integers<Real>, totals + i);
    }

    /// Of the records from `record` on, to the sums of persons under way, and of who has all rows to `sums`.
    void add_rows(Block block, std::size_t record, std::int64_t* persons, SumBounds sums) const {
        const std::size_t count = block.count * columns_, rows = product_.clip.rows;
        const std::int64_t most = product_.clip.template weight_units<Real>();
        const std::size_t records = std::min(lanes<Real>, product_.count - record);
        for (std::size_t i = 0; i < sides * count; ++i) {
            std::int64_t* to = (i < count ? sums.lower : sums.upper) + block.first * columns_ + i % count;
            for (std::size_t lane = 0; lane < records; ++lane) {
                persons[i] += units_[i * lanes<Real> + lane];
                if ((record + lane + 1) % rows != 0) continue;
                *to += std::clamp(persons[i], -most, most);
                persons[i] = 0;
            }
        }
    }

    void flush(Block block, const Integer* totals, SumBounds sums) const {
        const std::size_t count = block.count * columns_;
        for (std::size_t side = 0; side < sides; ++side) {
            std::int64_t* to = (side == 0 ? sums.lower : sums.upper) + block.first * columns_;
            for (std::size_t i = 0; i < count; ++i) {
                const Integer* of_lanes = totals + (side * count + i) * lanes<Real>;
                for (std::size_t lane = 0; lane < lanes<Real>; ++lane) to[i] += of_lanes[lane];
            }
        }
    }

    void select(Block block, std::size_t records, const SelectionTarget& target) const {
        const std::size_t count = block.count * columns_;
        for (std::size_t i = 0; i < count; ++i) {
            const Integer* lower = units_.data() + i * lanes<Real>;
            const Integer* upper = units_.data() + ((sides - 1) * count + i) * lanes<Real>;
            const std::size_t entry = target.first_entry + block.first * columns_ + i;
            for (std::size_t record = 0; record < records; ++record) {
                target.least.upper.insert(entry, upper[record]);
                target.least.negated_lower.insert(entry, -std::int64_t{lower[record]});
            }
        }
    }

    const ConvolutionProduct<Real>& product_;
    Window window_;
    Image image_, positions_, padded_;
    std::size_t channels_, columns_;
    Real bias_, limit_;
    AlignedVector<Real> z_lower_, z_upper_, delta_lower_, delta_upper_, entries_, scales_;
    AlignedVector<Integer> units_;
};

template <typename Real, Factors Kind>
void accumulate_of(const ConvolutionProduct<Real>& product, SumBounds sums, const SelectionTarget* target) {
    Gradient<Real, Kind> gradient(product);
    if (target == nullptr) return gradient.add(sums);
    gradient.add_and_select(sums, *target);
}

template <typename Real>
void accumulate_positions(const ConvolutionProduct<Real>& product, SumBounds sums,
                          const SelectionTarget* target) {
    if (product.is_point()) return accumulate_of<Real, Factors::points>(product, sums, target);
    if (product.z.is_point()) return accumulate_of<Real, Factors::point_image>(product, sums, target);
    accumulate_of<Real, Factors::boxes>(product, sums, target);
}

void AddSquaresOfPositionsInDouble(const ConvolutionProduct<double>& product, double* squares) {
    Gradient<double, Factors::points>(product).add_squares(squares);
}
void AddSquaresOfPositionsInSingle(const ConvolutionProduct<float>& product, double* squares) {
    Gradient<float, Factors::points>(product).add_squares(squares);
}

void AccumulatePositionsInDouble(const ConvolutionProduct<double>& product, SumBounds sums,
                                 const SelectionTarget* target) {
    accumulate_positions(product, sums, target);
}
void AccumulatePositionsInSingle(const ConvolutionProduct<float>& product, SumBounds sums,
                                 const SelectionTarget* target) {
    accumulate_positions(product, sums, target);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(AccumulatePositionsInDouble);
HWY_EXPORT(AccumulatePositionsInSingle);
HWY_EXPORT(AddSquaresOfPositionsInDouble);
HWY_EXPORT(AddSquaresOfPositionsInSingle);

template <>
void accumulate_positions(const ConvolutionProduct<double>& product, SumBounds sums,
                          const SelectionTarget* target) {
    HWY_DYNAMIC_DISPATCH(AccumulatePositionsInDouble)(product, sums, target);
}
template <>
void accumulate_positions(const ConvolutionProduct<float>& product, SumBounds sums,
                          const SelectionTarget* target) {
    HWY_DYNAMIC_DISPATCH(AccumulatePositionsInSingle)(product, sums, target);
}

template <>
void add_squares_of_positions(const ConvolutionProduct<double>& product, double* squares) {
    HWY_DYNAMIC_DISPATCH(AddSquaresOfPositionsInDouble)(product, squares);
}
template <>
void add_squares_of_positions(const ConvolutionProduct<float>& product, double* squares) {
    HWY_DYNAMIC_DISPATCH(AddSquaresOfPositionsInSingle)(product, squares);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
