#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/launches.hpp"
#include "kernels/cuda/step_engine_on.hpp"
#include "kernels/ops/loss.hpp"

namespace holdfast::device {

/// The operations one by one on panels of the host, each copied to an executor's device and back: for tests
/// of the kernels, and for what has no engine. Trainings run by step_engine().
template <typename Executor>
class BackendOn final : public Backend {
  public:
    template <typename... Arguments>
    explicit BackendOn(std::string name, Arguments... arguments)
        : name_(std::move(name)), executor_(arguments...), launches_(executor_) {}

    std::string name() const override { return name_; }

    std::unique_ptr<StepEngine> step_engine(const StepShape& shape) const override {
        return std::make_unique<StepEngineOn<Executor>>(executor_, shape);
    }

    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        executor_.bind();
        return std::make_unique<Layer>(executor_, launches_, shape, lower, upper);
    }

    void forward_input(const PackedLayer& layer, const double* x, Interval a) const override {
        forward_layer(layer, true, {x, x}, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        forward_layer(layer, false, z, a);
    }

    void relu(std::size_t rows, Interval a) const override {
        for (std::size_t i = 0; i < rows * panel_height; ++i) {
            a.lower[i] = saturated(greater(a.lower[i], 0.0));
            if (!a.is_point()) a.upper[i] = saturated(greater(a.upper[i], 0.0));
        }
    }

    void backward(const PackedLayer& packed, ConstInterval delta, ConstInterval z,
                  Interval d) const override {
        executor_.bind();
        const auto& layer = static_cast<const Layer&>(packed);
        const auto [in, out] = layer.shape();
        const Panel on_delta(executor_, out, delta), on_z(executor_, in, z);
        Panel on_d(executor_, in, d.is_point());
        launches_.backward(layer.shape(), d.is_point(), layer.weights(), on_delta.read(), on_z.read(),
                           on_d.write(), panel_height, 1);
        on_d.download(d);
    }

    void loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits, const std::int32_t* labels,
                       std::size_t count, Interval delta) const override {
        executor_.bind();
        const Panel on_logits(executor_, outputs, logits);
        Panel on_delta(executor_, outputs, delta.is_point());
        on_delta.clear();  // records from `count` on
        const Memory<Executor> on_labels(executor_, panel_height * sizeof(std::int32_t));
        executor_.upload(on_labels.template as<void>(), labels, count * sizeof(std::int32_t));
        launches_.loss(loss, delta.is_point(), on_logits.read(), on_delta.write(),
                       {on_labels.template as<std::int32_t>(), nullptr}, static_cast<int>(outputs),
                       static_cast<int>(count), 1);
        on_delta.download(delta);
    }

    void transpose(std::size_t rows, const double* panel, double* out, std::size_t stride) const override {
        transpose_on_host(rows, panel, out, stride);
    }

    void accumulate(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                    std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper) const override {
        executor_.bind();
        const Outer outer(executor_, shape, delta, z_rows, stride, panel_height);
        launches_.accumulate(clip, outer.kind, outer.arrays());
        outer.add_to(sum_lower, sum_upper);
    }

    void accumulate_and_select(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                               std::size_t stride, std::size_t count, std::int64_t* sum_lower,
                               std::int64_t* sum_upper, std::size_t first_entry, Selection& least_upper,
                               Selection& least_negated_lower) const override {
        executor_.bind();
        const Outer outer(executor_, shape, delta, z_rows, stride, count);
        const std::size_t kept = least_upper.count(), entries = shape.parameters();
        const Memory<Executor> values(executor_, 2 * kept * entries * sizeof(std::int64_t)),
            level(executor_, sizeof(LevelSelection));
        const LevelSelection selection{0, static_cast<std::int32_t>(kept)};
        executor_.upload(level.template as<void>(), &selection, sizeof selection);
        launches_.accumulate_and_select(
            clip, outer.kind, outer.arrays(),
            {values.template as<std::int64_t>(), level.template as<LevelSelection>(), entries}, 0, 0);
        outer.add_to(sum_lower, sum_upper);
        std::vector<std::int64_t> found(2 * kept * entries);
        executor_.download(found.data(), values.template as<void>(), found.size() * sizeof(std::int64_t));
        executor_.synchronize();
        least_upper.for_each_stripe(1, [&](std::size_t) {
            for (std::size_t slot = 0; slot < std::min(kept, count); ++slot) {
                for (std::size_t entry = 0; entry < entries; ++entry) {
                    least_negated_lower.insert(first_entry + entry, found[slot * entries + entry]);
                    least_upper.insert(first_entry + entry, found[(kept + slot) * entries + entry]);
                }
            }
        });
    }

  private:
    /// [rows, panel_height] on the device.
    class Panel {
      public:
        Panel(const Executor& executor, std::size_t rows, bool is_point)
            : executor_(executor),
              count_(rows * panel_height),
              lower_(executor, bytes()),
              upper_(executor, is_point ? 0 : bytes()),
              is_point_(is_point) {}
        Panel(const Executor& executor, std::size_t rows, ConstInterval values)
            : Panel(executor, rows, values.is_point()) {
            executor.upload(lower_.template as<void>(), values.lower, bytes());
            if (!is_point_) executor.upload(upper_.template as<void>(), values.upper, bytes());
        }
        Levels write() {
            return {{lower_.template as<double>(), (is_point_ ? lower_ : upper_).template as<double>()},
                    0,
                    panel_height};
        }
        ConstLevels read() const { return as_const(const_cast<Panel*>(this)->write()); }
        void clear() {
            executor_.fill(lower_.template as<void>(), 0, bytes());
            if (!is_point_) executor_.fill(upper_.template as<void>(), 0, bytes());
        }
        void download(Interval values) const {
            executor_.download(values.lower, lower_.template as<void>(), bytes());
            if (!is_point_) executor_.download(values.upper, upper_.template as<void>(), bytes());
            executor_.synchronize();
        }

      private:
        std::size_t bytes() const { return count_ * sizeof(double); }

        const Executor& executor_;
        std::size_t count_;
        Memory<Executor> lower_, upper_;
        bool is_point_;
    };

    class Layer final : public PackedLayer {
      public:
        Layer(const Executor& executor, const Launches<Executor>& launches, LayerShape shape,
              const std::int64_t* lower, const std::int64_t* upper)
            : PackedLayer(shape, lower == upper),
              lower_(executor, shape.parameters() * sizeof(double)),
              upper_(executor, is_point() ? 0 : shape.parameters() * sizeof(double)) {
            const auto put = [&](const Memory<Executor>& side, const std::int64_t* units) {
                executor.upload(side.template as<void>(), units, shape.parameters() * sizeof(std::int64_t));
                launches.parameters(side.template as<double>(), shape.parameters());
            };
            put(lower_, lower);
            if (!is_point()) put(upper_, upper);
        }
        ConstLevels weights() const {
            return {{lower_.template as<double>(), (is_point() ? lower_ : upper_).template as<double>()},
                    0,
                    shape().in + 1};
        }

      private:
        Memory<Executor> lower_, upper_;
    };

    /// Arrays of an outer product; z comes by records.
    struct Outer {
        Outer(const Executor& executor, LayerShape shape, ConstInterval delta, ConstInterval z_rows,
              std::size_t stride, std::size_t count)
            : kind(!z_rows.is_point() ? Activations::hidden
                   : delta.is_point() ? Activations::point
                                      : Activations::input),
              executor_(executor),
              shape_(shape),
              records_(count),
              delta_(executor, shape.out, delta),
              z_lower_(executor, shape.in, by_features(shape.in, z_rows.lower, stride)),
              z_upper_(executor, shape.in, by_features(shape.in, z_rows.upper, stride)),
              sums_(executor, 2 * bytes()) {
            executor.fill(sums_.template as<void>(), 0, 2 * bytes());
        }

        OuterArrays arrays() const {
            auto* sums = sums_.template as<std::int64_t>();
            const ConstLevels z{{z_lower_.read().side[0], z_upper_.read().side[0]}, 0, panel_height};
            return {delta_.read(),
                    z,
                    {sums, sums + shape_.parameters()},
                    0,
                    static_cast<int>(shape_.in),
                    static_cast<int>(shape_.out),
                    static_cast<int>(records_),
                    1};
        }

        void add_to(std::int64_t* sum_lower, std::int64_t* sum_upper) const {
            std::vector<std::int64_t> sums(2 * shape_.parameters());
            executor_.download(sums.data(), sums_.template as<void>(), 2 * bytes());
            executor_.synchronize();
            for (std::size_t p = 0; p < shape_.parameters(); ++p) {
                sum_lower[p] += sums[p];
                if (sum_upper != sum_lower) sum_upper[p] += sums[shape_.parameters() + p];
            }
        }

        Activations kind;

      private:
        std::size_t bytes() const { return shape_.parameters() * sizeof(std::int64_t); }
        struct Transposed : std::vector<double> {
            using std::vector<double>::vector;
            operator ConstInterval() const { return {data(), data()}; }
        };
        static Transposed by_features(std::size_t in, const double* rows, std::size_t stride) {
            Transposed panel(in * panel_height);
            for (std::size_t r = 0; r < panel_height; ++r) {
                for (std::size_t j = 0; j < in; ++j) panel[j * panel_height + r] = rows[r * stride + j];
            }
            return panel;
        }

        const Executor& executor_;
        LayerShape shape_;
        std::size_t records_;
        Panel delta_, z_lower_, z_upper_;
        Memory<Executor> sums_;
    };

    void forward_layer(const PackedLayer& packed, bool is_input, ConstInterval z, Interval a) const {
        executor_.bind();
        const auto& layer = static_cast<const Layer&>(packed);
        const auto [in, out] = layer.shape();
        const Panel on_z(executor_, in, z);
        Panel on_a(executor_, out, a.is_point());
        launches_.forward(layer.shape(), a.is_point(), is_input, layer.weights(), on_z.read(), on_a.write(),
                          panel_height, 1, false);
        on_a.download(a);
    }

    std::string name_;
    Executor executor_;
    Launches<Executor> launches_;
};

}  // namespace holdfast::device
