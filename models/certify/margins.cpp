#include "models/certify/margins.hpp"

namespace holdfast {

template <typename Real>
MarginLayer::MarginLayer(const Network& network, const BasicBackend<Real>& backend, const std::int64_t* lower,
                         const std::int64_t* upper) {
    const std::size_t last = network.layers().size() - 1;
    const std::size_t columns = network.layers()[last].in + 1;
    const std::int64_t* low = lower + network.offset(last);
    const std::int64_t* high = upper + network.offset(last);
    std::vector<std::int64_t> least, greatest;
    if (network.outputs() == 1) {
        for (std::size_t j = 0; j < columns; ++j) {
            least.push_back(-high[j]);
            greatest.push_back(-low[j]);
        }
    } else {
        for (std::size_t a = 0; a < network.classes(); ++a) {
            for (std::size_t b = a + 1; b < network.classes(); ++b) {
                for (std::size_t j = 0; j < columns; ++j) {
                    least.push_back(low[a * columns + j] - high[b * columns + j]);
                    greatest.push_back(high[a * columns + j] - low[b * columns + j]);
                }
            }
        }
    }
    const LayerShape shape{columns - 1, least.size() / columns};
    layer_ = backend.pack(shape, least.data(), lower == upper ? least.data() : greatest.data());
}

template <typename Real>
std::size_t BasicMargins<Real>::winner(std::size_t r) const {
    std::size_t champion = 0;
    for (std::size_t challenger = 1; challenger < classes_; ++challenger) {
        if (least(challenger, champion, r) > 0) champion = challenger;
    }
    return champion;
}

template <typename Real>
bool BasicMargins<Real>::certified(std::size_t c, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != c && !(least(c, other, r) > 0)) return false;
    }
    return true;
}

template <typename Real>
bool BasicMargins<Real>::beaten(std::size_t j, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != j && least(other, j, r) > 0) return true;
    }
    return false;
}

template MarginLayer::MarginLayer(const Network&, const Backend&, const std::int64_t*, const std::int64_t*);
template MarginLayer::MarginLayer(const Network&, const BasicBackend<float>&, const std::int64_t*,
                                  const std::int64_t*);
template class BasicMargins<double>;
template class BasicMargins<float>;

}  // namespace holdfast
