#include "models/robust/scattering_gradient.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast {
namespace {

using Bank = ScatteringFilters;
using cyclic::Complex;
using cyclic::HalfWave;
using cyclic::WholeWave;
constexpr std::size_t whole_side = Bank::side, half_side = Bank::half, turns = Bank::angles, most_places = 64,
                      edge = 2;  ///< of an image on the torus

/// What the low pass makes of each sine, backwards: [size, Side].
template <std::size_t Side>
std::vector<double> behind_low_pass(const std::array<std::int64_t, Side>& taps,
                                    const std::vector<double>& sines, std::size_t size) {
    constexpr std::size_t step = Side / 8;
    std::vector<double> behind(size * Side);
    for (std::size_t a = 0; a < size; ++a)
        for (std::size_t pixel = 0; pixel < Side; ++pixel)
            for (std::size_t k = 0; k < size; ++k)
                behind[a * Side + pixel] +=
                    sines[a * size + k] *
                    std::ldexp(static_cast<double>(taps[(pixel + Side - step * (k + 1) % Side) % Side]),
                               -Bank::low_bits);
    return behind;
}

// Waves ---------------------------------------------------------------------------------------------------

WholeWave transform_of(const Bank::Wavelet& wavelet) {
    WholeWave values;
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = {std::ldexp(static_cast<double>(wavelet.real[i]), -Bank::tap_bits),
                     std::ldexp(static_cast<double>(wavelet.imaginary[i]), -Bank::tap_bits)};
    cyclic::transform(values);
    for (Complex& value : values) value /= whole_side * whole_side;
    return values;
}

WholeWave transform_of(const double* torus) {
    WholeWave values;
    std::copy(torus, torus + values.size(), values.begin());
    cyclic::transform(values);
    return values;
}

/// The wavelet's wave at every pixel, and at every other one: frequencies k and k + 16 are neighbours.
void wave_of(const WholeWave& of, const WholeWave& wavelet, WholeWave& wave) {
    for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = cyclic::product(of[i], wavelet[i]);
    cyclic::transform_back(wave);
}
void wave_of(const WholeWave& of, const WholeWave& wavelet, HalfWave& wave) {
    for (std::size_t y = 0; y < half_side; ++y) {
        for (std::size_t x = 0; x < half_side; ++x) {
            Complex sum = 0;
            for (const std::size_t at : {(2 * y) * whole_side + 2 * x, (2 * y + 1) * whole_side + 2 * x})
                sum += cyclic::product(of[at], wavelet[at]) + cyclic::product(of[at + 1], wavelet[at + 1]);
            wave[y * half_side + x] = sum;
        }
    }
    cyclic::transform_back(wave);
}

template <typename Wave>
std::vector<double> moduli_of(const Wave& wave) {
    std::vector<double> moduli(wave.size());
    std::transform(wave.begin(), wave.end(), moduli.begin(), [](Complex value) {
        return std::sqrt(value.real() * value.real() + value.imag() * value.imag());
    });
    return moduli;
}

/// by_moduli along each wave's own phase.
template <typename Wave>
Wave along(const Wave& wave, const std::vector<double>& by_moduli) {
    const std::vector<double> moduli = moduli_of(wave);
    Wave result;
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = moduli[i] > 0 ? by_moduli[i] / moduli[i] * wave[i] : 0;
    return result;
}

/// sums += the transform of what wave_of() did, backwards.
void add_behind(WholeWave by_wave, const WholeWave& wavelet, WholeWave& sums) {
    cyclic::transform(by_wave);
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += cyclic::product(by_wave[i], std::conj(wavelet[i]));
}
void add_behind(HalfWave by_wave, const WholeWave& wavelet, WholeWave& sums) {
    cyclic::transform(by_wave);
    for (std::size_t y = 0; y < whole_side; ++y)
        for (std::size_t x = 0; x < whole_side; ++x)
            sums[y * whole_side + x] +=
                cyclic::product(by_wave[y / 2 * half_side + x / 2], std::conj(wavelet[y * whole_side + x]));
}

/// by_torus += the real part of what has such a transform.
void add_back(WholeWave sums, std::vector<double>& by_torus) {
    cyclic::transform_back(sums);
    for (std::size_t i = 0; i < sums.size(); ++i) by_torus[i] += sums[i].real();
}

// The slope -----------------------------------------------------------------------------------------------

/// B B^T, or B' B'^T, of what lies on modes: a product of one matrix by rows and one by columns.
class LowPassed {
  public:
    explicit LowPassed(const Scattering& map) : map_(map) {
        const Bank& filters = Bank::shared();
        fine_y_ = products(filters.low, map.sines_y(), map.rows());
        fine_x_ = products(filters.low, map.sines_x(), map.width());
        coarse_y_ = products(filters.low_half, map.sines_y(), map.rows());
        coarse_x_ = products(filters.low_half, map.sines_x(), map.width());
    }
    /// v, result: [map.modes()]
    void operator()(const double* v, bool coarse, double* result) const {
        const std::vector<double>&by_y = coarse ? coarse_y_ : fine_y_, &by_x = coarse ? coarse_x_ : fine_x_;
        const std::size_t rows = map_.rows(), width = map_.width();
        std::array<double, most_places> half{};  // [rows, width]: v along x
        for (const Scattering::Mode& mode : map_.modes()) {
            for (std::size_t x = 0; x < width; ++x) half[mode.y * width + x] += by_x[mode.x * width + x] * *v;
            ++v;
        }
        for (const Scattering::Mode& mode : map_.modes()) {
            double sum = 0;
            for (std::size_t y = 0; y < rows; ++y) sum += by_y[mode.y * rows + y] * half[y * width + mode.x];
            *result++ = sum;
        }
    }

  private:
    /// Of each two sines behind the low pass: [size, size]
    template <std::size_t Side>
    static std::vector<double> products(const std::array<std::int64_t, Side>& taps,
                                        const std::vector<double>& sines, std::size_t size) {
        const std::vector<double> behind = behind_low_pass(taps, sines, size);
        std::vector<double> result(size * size);
        for (std::size_t a = 0; a < size; ++a)
            for (std::size_t b = 0; b < size; ++b)
                for (std::size_t pixel = 0; pixel < Side; ++pixel)
                    result[a * size + b] += behind[a * Side + pixel] * behind[b * Side + pixel];
        return result;
    }
    const Scattering& map_;
    std::vector<double> fine_y_, fine_x_, coarse_y_, coarse_x_;
};

/// gradient += half the derivative by w of by_image's square in one channel of the image: that square.
double add_channel_gradient(const Scattering& map, const LowPassed& low_passed, const double* w,
                            double* gradient) {
    const std::size_t each = map.modes().size();
    const auto weight = [&](std::size_t c) {
        return map.weights()[c == 0 ? 0 : c <= turns ? 1 : c <= 2 * turns ? 2 : 3];
    };
    std::vector<double> v(Scattering::channels * each), seen(v.size());
    std::array<double, Scattering::channels> whole_squares{}, seen_squares{};
    for (std::size_t c = 0; c < Scattering::channels; ++c) {
        double *values = &v[c * each], *passed = &seen[c * each];
        for (std::size_t i = 0; i < each; ++i)
            values[i] = weight(c) * map.modes()[i].weight * w[c * each + i];
        low_passed(values, c > turns, passed);
        for (std::size_t i = 0; i < each; ++i) {
            whole_squares[c] += values[i] * values[i];
            seen_squares[c] += values[i] * passed[i];
        }
        seen_squares[c] = std::max(seen_squares[c], 0.0);
    }
    const auto ratio = [](double above, double below) { return below > 0 ? above / below : 0; };
    // Of v and of what the low pass makes of it, by channels: what half the derivative has of each.
    std::array<double, Scattering::channels> of_whole{}, of_seen{};
    double waves = 0;
    for (std::size_t l = 0; l < turns; ++l) {
        const std::size_t fine = 1 + l, coarse = 1 + turns + l, both = 1 + 2 * turns + l * turns;
        double second = 0;
        for (std::size_t m = 0; m < turns; ++m) second += seen_squares[both + m];
        const double length = std::sqrt(seen_squares[fine]), rest = std::sqrt(second), added = length + rest,
                     rooted = std::sqrt(whole_squares[fine] + second), joint = std::min(added, rooted);
        (added < rooted ? of_seen : of_whole)[fine] = added < rooted ? ratio(joint, length) : 1;
        for (std::size_t m = 0; m < turns; ++m) of_seen[both + m] = added < rooted ? ratio(joint, rest) : 1;
        of_seen[coarse] = 1;
        waves += joint * joint + seen_squares[coarse];
    }
    const double length = std::sqrt(seen_squares[0]), rest = std::sqrt(waves), added = length + rest,
                 rooted = std::sqrt(whole_squares[0] + waves), all = std::min(added, rooted);
    const double of_waves = added < rooted ? ratio(all, rest) : 1;
    for (std::size_t c = 1; c < Scattering::channels; ++c) {
        of_whole[c] *= of_waves;
        of_seen[c] *= of_waves;
    }
    (added < rooted ? of_seen : of_whole)[0] = added < rooted ? ratio(all, length) : 1;
    for (std::size_t c = 0; c < Scattering::channels; ++c)
        for (std::size_t i = 0; i < each; ++i)
            gradient[c * each + i] += weight(c) * map.modes()[i].weight *
                                      (of_whole[c] * v[c * each + i] + of_seen[c] * seen[c * each + i]);
    return all * all;
}

}  // namespace

SmoothScattering::SmoothScattering(const Scattering& map) : map_(map) {
    const Bank& filters = Bank::shared();
    for (std::size_t angle = 0; angle < turns; ++angle) {
        fine_.push_back(transform_of(filters.fine[angle]));
        coarse_.push_back(transform_of(filters.coarse[angle]));
    }
    whole_y_ = behind_low_pass(filters.low, map.sines_y(), map.rows());
    whole_x_ = behind_low_pass(filters.low, map.sines_x(), map.width());
    half_y_ = behind_low_pass(filters.low_half, map.sines_y(), map.rows());
    half_x_ = behind_low_pass(filters.low_half, map.sines_x(), map.width());
}

template <std::size_t Side>
void SmoothScattering::see(const double* torus, double weight, double* entries) const {
    const std::vector<double>&by_y = Side == whole_side ? whole_y_ : half_y_,
          &by_x = Side == whole_side ? whole_x_ : half_x_;
    std::array<double, 8 * Side> across{};  // [width, Side]
    for (std::size_t b = 0; b < map_.width(); ++b)
        for (std::size_t y = 0; y < Side; ++y)
            for (std::size_t x = 0; x < Side; ++x)
                across[b * Side + y] += torus[y * Side + x] * by_x[b * Side + x];
    for (const Scattering::Mode& mode : map_.modes()) {
        double sum = 0;
        for (std::size_t y = 0; y < Side; ++y) sum += by_y[mode.y * Side + y] * across[mode.x * Side + y];
        *entries++ = weight * mode.weight * sum;
    }
}

/// torus += what see() did, backwards.
template <std::size_t Side>
void SmoothScattering::show(const double* by_entries, double weight, double* torus) const {
    const std::vector<double>&by_y = Side == whole_side ? whole_y_ : half_y_,
          &by_x = Side == whole_side ? whole_x_ : half_x_;
    std::array<double, 8 * Side> across{};
    for (const Scattering::Mode& mode : map_.modes()) {
        const double by = weight * mode.weight * *by_entries++;
        for (std::size_t y = 0; y < Side; ++y) across[mode.x * Side + y] += by * by_y[mode.y * Side + y];
    }
    for (std::size_t y = 0; y < Side; ++y)
        for (std::size_t b = 0; b < map_.width(); ++b)
            for (std::size_t x = 0; x < Side; ++x)
                torus[y * Side + x] += across[b * Side + y] * by_x[b * Side + x];
}

void SmoothScattering::forward_channel(const double* pixels, std::size_t channel, Pass& pass,
                                       double* entries) const {
    const Image& image = map_.image();
    const FeatureRange range = map_.range();
    const std::size_t each = map_.modes().size();
    std::vector<double> torus(whole_side * whole_side);
    for (std::size_t y = 0; y < image.height; ++y)
        for (std::size_t x = 0; x < image.width; ++x)
            torus[(y + edge) % whole_side * whole_side + (x + edge) % whole_side] =
                (pixels[y * image.width + x] - range.low) / (range.high - range.low);
    see<whole_side>(torus.data(), map_.weights()[0], entries);
    HalfWave* coarse = &pass.coarse[channel * turns * (turns + 1)];
    const auto add_coarse = [&](const WholeWave& of, double weight, double* to) {
        for (std::size_t m = 0; m < turns; ++m, ++coarse, to += each) {
            wave_of(of, coarse_[m], *coarse);
            see<half_side>(moduli_of(*coarse).data(), weight, to);
        }
    };
    const WholeWave whole = transform_of(torus.data());
    add_coarse(whole, map_.weights()[2], entries + (1 + turns) * each);
    for (std::size_t l = 0; l < turns; ++l) {
        WholeWave& fine = pass.fine[channel * turns + l];
        wave_of(whole, fine_[l], fine);
        const std::vector<double> moduli = moduli_of(fine);
        see<whole_side>(moduli.data(), map_.weights()[1], entries + (1 + l) * each);
        add_coarse(transform_of(moduli.data()), map_.weights()[3], entries + (1 + (2 + l) * turns) * each);
    }
}

void SmoothScattering::gradient_channel(const double* by_entries, std::size_t channel, const Pass& pass,
                                        double* pixels) const {
    const std::size_t each = map_.modes().size();
    const HalfWave* coarse = &pass.coarse[channel * turns * (turns + 1)];
    const auto add_coarse = [&](const double* by, double weight, WholeWave& sums) {
        for (std::size_t m = 0; m < turns; ++m, ++coarse, by += each) {
            std::vector<double> by_moduli(half_side * half_side);
            show<half_side>(by, weight, by_moduli.data());
            add_behind(along(*coarse, by_moduli), coarse_[m], sums);
        }
    };
    std::vector<double> by_torus(whole_side * whole_side);
    show<whole_side>(by_entries, map_.weights()[0], by_torus.data());
    WholeWave sums{};
    add_coarse(by_entries + (1 + turns) * each, map_.weights()[2], sums);
    for (std::size_t l = 0; l < turns; ++l) {
        std::vector<double> by_moduli(whole_side * whole_side);
        show<whole_side>(by_entries + (1 + l) * each, map_.weights()[1], by_moduli.data());
        WholeWave of_moduli{};
        add_coarse(by_entries + (1 + (2 + l) * turns) * each, map_.weights()[3], of_moduli);
        add_back(of_moduli, by_moduli);
        add_behind(along(pass.fine[channel * turns + l], by_moduli), fine_[l], sums);
    }
    add_back(sums, by_torus);
    const Image& image = map_.image();
    const FeatureRange range = map_.range();
    for (std::size_t y = 0; y < image.height; ++y)
        for (std::size_t x = 0; x < image.width; ++x)
            pixels[y * image.width + x] =
                by_torus[(y + edge) % whole_side * whole_side + (x + edge) % whole_side] /
                (range.high - range.low);
}

void SmoothScattering::forward(std::span<const double> pixels, Pass& pass, std::span<double> entries) const {
    const Image& image = map_.image();
    pass.fine.resize(image.channels * turns);
    pass.coarse.resize(image.channels * turns * (turns + 1));
    for (std::size_t channel = 0; channel < image.channels; ++channel)
        forward_channel(&pixels[channel * image.height * image.width], channel, pass,
                        &entries[channel * Scattering::channels * map_.modes().size()]);
}

void SmoothScattering::gradient(std::span<const double> by_entries, const Pass& pass,
                                std::span<double> pixels) const {
    const Image& image = map_.image();
    for (std::size_t channel = 0; channel < image.channels; ++channel)
        gradient_channel(&by_entries[channel * Scattering::channels * map_.modes().size()], channel, pass,
                         &pixels[channel * image.height * image.width]);
}

std::vector<double> slope_gradient(const Scattering& map, std::span<const double> w) {
    const LowPassed low_passed(map);
    std::vector<double> gradient(w.size());
    double squares = 0;
    const std::size_t each = Scattering::channels * map.modes().size();
    for (std::size_t first = 0; first < w.size(); first += each)
        squares += add_channel_gradient(map, low_passed, w.data() + first, gradient.data() + first);
    for (double& entry : gradient) entry = squares > 0 ? entry / std::sqrt(squares) : 0;
    return gradient;
}

}  // namespace holdfast
