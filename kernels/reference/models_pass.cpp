#include "kernels/ops/models_pass.hpp"

#include <cmath>
#include <vector>

#include "kernels/ops/loss_rule.hpp"
#include "kernels/ops/whole_persons.hpp"
#include "kernels/reference/operations.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {
namespace {

/// One network, record after record.
template <typename Real>
class ReferenceModelsPass final : public ModelsPass {
  public:
    ReferenceModelsPass(const NetworkShape& network, const Clip& clip) : network_(network), clip_(clip) {}

    std::size_t models() const override { return 1; }

    void add(const std::int64_t* parameters, const RecordSet& records, std::span<const std::uint32_t> indices,
             std::span<const std::size_t> without, std::int64_t* sums) override {
        std::vector<Real> weights;
        for (std::size_t p = 0; p < network_.parameters(); ++p)
            weights.push_back(parameter_value<Real>(parameters[p]));
        std::vector<Real> plain(weights.size(), Real{0});  // of clip "none"
        const std::size_t left_out = without[0], behind = left_out < indices.size()
                                                              ? end_of_person(records, indices, left_out)
                                                              : left_out;
        for (std::size_t position = 0; position < indices.size(); ++position) {
            if (position < left_out || position >= behind)
                add_record(weights, records, indices[position], plain, sums);
        }
        if (clip_.kind != Clip::Kind::none) return;
        for (std::size_t p = 0; p < plain.size(); ++p) {
            const double sum =
                std::clamp(static_cast<double>(plain[p]), -Clip::plain_limit, Clip::plain_limit);
            sums[p] += static_cast<std::int64_t>(std::nearbyint(std::ldexp(sum, -Clip::plain_exponent)));
        }
    }

  private:
    using Values = std::vector<Real>;
    static BasicInterval<Real> point(Values& values) { return {values.data(), values.data()}; }

    reference::Weights<Real> layer(const Values& weights, std::size_t l) const {
        const Real* first = weights.data() + network_.offset(l);
        return {network_.layers[l], first, first};
    }

    void add_record(const Values& weights, const RecordSet& records, std::uint32_t record, Values& plain,
                    std::int64_t* sums) const {
        // What every layer reads, and what the last one gives.
        std::vector<Values> values{features(records, record)};
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            Values outputs(network_.layers[l].out);
            const reference::Weights<Real> at = layer(weights, l);
            if (l == 0) reference::forward_input(at, 1, values[0].data(), point(outputs));
            if (l > 0) reference::forward<Real>(at, 1, point(values[l]), point(outputs));
            if (l < network_.last()) reference::relu(outputs.size(), point(outputs));
            values.push_back(std::move(outputs));
        }
        const Values& logits = values.back();
        Values delta(logits.size());
        for (std::size_t c = 0; c < logits.size(); ++c)
            delta[c] = static_cast<Real>(loss_derivative(
                network_.loss, logits.size(), c, records.target(record), logits.data(), logits.data(), 1));
        for (std::size_t l = network_.last();; --l) {
            add_entries(l, delta, rounded_down<Real>(records.weight(record)), values[l], plain, sums);
            if (l == 0) return;
            Values before(values[l].size());
            reference::backward<Real>(layer(weights, l), 1, point(delta), point(values[l]), point(before));
            delta = std::move(before);
        }
    }

    Values features(const RecordSet& records, std::uint32_t record) const {
        Values row;
        for (std::size_t j = 0; j < network_.inputs(); ++j)
            row.push_back(network_.input.apply<Real>(records.feature(record * network_.inputs() + j)));
        return row;
    }

    void add_entries(std::size_t l, const Values& delta, Real weight, const Values& z, Values& plain,
                     std::int64_t* sums) const {
        const reference::Rule<Real> rule(rule_clip());
        for (std::size_t o = 0; o < delta.size(); ++o) {
            for (std::size_t j = 0; j <= z.size(); ++j) {
                const std::size_t p = network_.offset(l) + o * (z.size() + 1) + j;
                const bool bias = j == z.size();
                const Real factor = bias ? Real{1} : z[j];
                if (clip_.kind == Clip::Kind::none) {
                    plain[p] = std::fma(reference::clamp_to(plain_delta_limit<Real>, delta[o]) * weight,
                                        factor, plain[p]);
                } else {
                    sums[p] +=
                        reference::clipped_entry(rule, bias, {delta[o], delta[o], factor, factor}).lower;
                }
            }
        }
    }
    /// Of clip "none" no entry has a rule.
    Clip rule_clip() const {
        Clip clip = clip_;
        if (clip.kind == Clip::Kind::none) clip = {.kind = Clip::Kind::elementwise, .gamma = 1};
        return clip;
    }

    NetworkShape network_;
    Clip clip_;
};

}  // namespace

template <typename Real>
std::unique_ptr<ModelsPass> make_reference_models_pass(const NetworkShape& network, const Clip& clip) {
    return std::make_unique<ReferenceModelsPass<Real>>(network, clip);
}
template std::unique_ptr<ModelsPass> make_reference_models_pass<double>(const NetworkShape&, const Clip&);
template std::unique_ptr<ModelsPass> make_reference_models_pass<float>(const NetworkShape&, const Clip&);

}  // namespace holdfast
