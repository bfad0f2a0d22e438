#include "kernels/pass/engine_models_pass.hpp"

#include <utility>
#include <vector>

#include "kernels/ops/step_message.hpp"
#include "kernels/ops/whole_persons.hpp"

namespace holdfast {
namespace {

class EngineModelsPass final : public ModelsPass {
  public:
    EngineModelsPass(std::unique_ptr<Engine> engine, const NetworkShape& network, std::size_t models)
        : engine_(std::move(engine)),
          network_(network),
          points_(models, std::vector<std::int64_t>(network.parameters())) {}

    std::size_t models() const override { return points_.size(); }

    void add(const std::int64_t* parameters, const RecordSet& records, std::span<const std::uint32_t> indices,
             std::span<const std::size_t> without, std::int64_t* sums) override {
        engine_->set_records({&records, 1});
        std::vector<std::size_t> whole;  // networks that leave nothing of this step out
        for (std::size_t model = 0; model < models(); ++model) {
            for (std::size_t p = 0; p < points_[model].size(); ++p)
                points_[model][p] = parameters[p * models() + model];
            if (without[model] >= indices.size()) {
                whole.push_back(model);
                continue;
            }
            std::vector<std::uint32_t> left(indices.begin(), indices.end());
            const auto first = static_cast<std::ptrdiff_t>(without[model]),
                       end = static_cast<std::ptrdiff_t>(end_of_person(records, indices, without[model]));
            left.erase(left.begin() + first, left.begin() + end);
            add_to({&model, 1}, left, sums);
        }
        if (!whole.empty()) add_to(whole, indices, sums);
    }

  private:
    void add_to(std::span<const std::size_t> some, std::span<const std::uint32_t> indices,
                std::int64_t* sums) {
        std::vector<Variant> variants;
        for (const std::size_t model : some)
            variants.push_back({points_[model].data(), points_[model].data()});
        engine_->run(variants, {&indices, 1});
        const std::span<const std::int64_t> message = engine_->finish();
        const StepMessage layout = StepMessage::of(variants.size(), network_);
        for (std::size_t i = 0; i < some.size(); ++i) {
            for (std::size_t p = 0; p < layout.parameters; ++p)
                sums[p * models() + some[i]] += message[layout.lower(i) + p];
        }
    }

    std::unique_ptr<Engine> engine_;
    NetworkShape network_;
    std::vector<std::vector<std::int64_t>> points_;  // [models][parameters]
};

}  // namespace

std::unique_ptr<ModelsPass> make_engine_models_pass(std::unique_ptr<Engine> engine,
                                                    const NetworkShape& network, std::size_t models) {
    return std::make_unique<EngineModelsPass>(std::move(engine), network, models);
}

}  // namespace holdfast
