#include "kernels/pass/host_engine.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/threads.hpp"
#include "kernels/ops/whole_persons.hpp"
#include "kernels/pass/panel_pass.hpp"

namespace holdfast {
namespace {

/// Layers that hand on what the next one takes, the last of them dense.
void require_fitting(const NetworkShape& network) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const Layer& layer = network.layers[l];
        ensure(layer.output_rows() > 0 && layer.dropout >= 0 && layer.dropout < 1, "a layer gives something");
        ensure(l == 0 || layer.input_rows() == network.layers[l - 1].output_rows(), "layers fit");
        ensure(l < network.last() || layer.is_dense(), "the last layer is dense");
        ensure(!layer.pooling || layer.pooling->input == layer.weighted(),
               "pooling of what the weights give");
        if (!layer.convolution) continue;
        const std::size_t groups = layer.convolution->groups, channels = layer.convolution->input.channels;
        ensure(groups > 0 && channels % groups == 0 && layer.out % groups == 0 &&
                   layer.in == channels / groups * layer.convolution->window.taps(),
               "the weights of a convolution");
    }
}

/// Up to panel_height records of one set, or linear_block; or all rows of a person.
struct Work {
    const RecordSet* records;
    std::span<const std::uint32_t> indices;
};

void cut(const RecordSet& records, std::span<const std::uint32_t> indices, std::size_t piece,
         std::vector<Work>& work) {
    for (std::size_t first = 0; first < indices.size(); first += piece)
        work.push_back({&records, indices.subspan(first, std::min(piece, indices.size() - first))});
}

/// Rows by what they count: a panel takes rows of one weight.
using RowsByWeight = std::map<double, std::vector<std::uint32_t>>;
RowsByWeight by_weight(const RecordSet& records, std::span<const std::uint32_t> indices) {
    RowsByWeight rows;
    auto same = rows.end();  // of a person's rows, which stand side by side
    for (const std::uint32_t index : indices) {
        const double weight = records.weights[index];
        if (same == rows.end() || same->first != weight) same = rows.try_emplace(weight).first;
        same->second.push_back(index);
    }
    return rows;
}

/// Person by person.
void cut_by_person(const RecordSet& records, std::span<const std::uint32_t> indices,
                   std::vector<Work>& persons) {
    for (std::size_t first = 0, end = 0; first < indices.size(); first = end) {
        end = end_of_person(records, indices, first);
        persons.push_back({&records, indices.subspan(first, end - first)});
    }
}

/// How threads share a group: pieces of panels x variants, so that one panel and many variants feed all of
/// them; of several panels where that leaves pieces enough.
struct Sharing {
    /// most: panels of a piece.
    Sharing(const NetworkShape& network, std::size_t height, std::size_t panel_count,
            std::size_t variant_count, std::size_t most = 1)
        : threads(threads_for(2.0 * static_cast<double>(height * panel_count * variant_count) *
                              static_cast<double>(network.products()))),
          panels(panel_count),
          variants(variant_count) {
        const auto wanted = static_cast<std::size_t>(threads == 1 ? 1 : 4 * threads);
        if (panels > 0) parts = std::clamp<std::size_t>((wanted + panels - 1) / panels, 1, variants);
        together = std::clamp<std::size_t>(panels / wanted, 1, most);
        pieces = (panels + together - 1) / together * parts;
    }
    int threads;
    std::size_t panels, variants, parts = 1, together = 1, pieces = 0;

    std::size_t first_panel(std::size_t piece) const { return piece / parts * together; }
    std::size_t last_panel(std::size_t piece) const {
        return std::min(first_panel(piece) + together, panels);
    }
    std::size_t first_variant(std::size_t piece) const { return piece % parts * variants / parts; }
    std::size_t last_variant(std::size_t piece) const { return (piece % parts + 1) * variants / parts; }
};

/// Calls piece(worker, index) for every index below `count` on so many threads, each with a worker of its
/// own, and finish(worker) at each one's end, one at a time. Worker(): what one thread computes with.
template <typename MakeWorker, typename Piece, typename Finish>
void share(int threads, std::size_t count, MakeWorker make, Piece piece, Finish finish) {
    ThreadFailure failure;
    std::mutex mutex;
#pragma omp parallel num_threads(threads)
    {
        std::optional<decltype(make())> worker;
        failure.guard([&] {
            require_sound_arithmetic();
            worker.emplace(make());
        });
#pragma omp for schedule(dynamic) nowait
        for (std::size_t index = 0; index < count; ++index) {
            failure.guard([&] {
                if (worker) piece(*worker, index);
            });
        }
        const std::lock_guard lock(mutex);
        if (worker) finish(*worker);
    }
    failure.rethrow();
}

template <typename Real>
class HostEngine final : public Engine {
  public:
    HostEngine(const PanelOperations<Real>& operations, const NetworkShape& network, const Clip& clip,
               std::size_t bytes_per_thread)
        : bound_(operations.for_network(network)),
          operations_(bound_ == nullptr ? operations : *bound_),
          network_(network),
          clip_(clip),
          bytes_per_thread_(bytes_per_thread) {
        require_fitting(network);
        ensure(clip.kind != Clip::Kind::none, "an engine adds gradients that are clipped");
    }

    void set_records(std::span<const RecordSet> sets) override {
        const bool poisoned = std::any_of(sets.begin(), sets.end(),
                                          [](const RecordSet& set) { return set.poison.has_value(); });
        if (poisoned && !network_.is_dense())
            throw Error(ExitCode::usage,
                        "poisoned records are not bounded through convolutions, pooling or dropout",
                        "use a network of dense layers, or another relation", "certificate.relation");
        for (const RecordSet& set : sets)
            ensure(!clip_.after || set.weights == nullptr || set.rows_of_persons,
                   "what is clipped after is the rows of persons");
        sets_.assign(sets.begin(), sets.end());
    }

    void set_dropout(std::span<const std::vector<double>> factors) override {
        ensure(factors.size() <= network_.layers.size(), "dropout of the layers there are");
        dropout_.clear();
        for (std::size_t l = 0; l < factors.size(); ++l) {
            const Layer& layer = network_.layers[l];
            ensure(factors[l].empty() || (layer.dropout > 0 && factors[l].size() == layer.output_rows()),
                   "a factor for every output of a layer with dropout");
            for (const double factor : factors[l])
                ensure(factor >= 0 && std::isfinite(factor), "what an output is multiplied by");
            dropout_.emplace_back(factors[l].begin(), factors[l].end());
        }
    }

    DeviceSpan run(std::span<const Variant> variants,
                   std::span<const std::span<const std::uint32_t>> indices) override {
        ensure(indices.size() == sets_.size(), "a batch for every set of records");
        const StepMessage layout = StepMessage::of(variants.size(), network_);
        message_.assign(layout.size(), 0);
        selections_.clear();
        for (const Variant& variant : variants) {
            selections_.emplace_back();
            if (variant.selected > 0) selections_.back().emplace(layout.parameters, variant.selected);
        }
        const bool linear = is_linear(variants);
        const bool selecting = std::any_of(variants.begin(), variants.end(),
                                           [](const Variant& variant) { return variant.selected > 0; });
        std::vector<Work> work, persons;
        std::vector<RowsByWeight> weighed(sets_.size());  // what pieces of them point into
        for (std::size_t set = 0; set < sets_.size(); ++set) {
            const std::size_t piece = linear ? linear_block : panel_height;
            if (sets_[set].weights == nullptr) {
                cut(sets_[set], indices[set], piece, work);
            } else if (selecting && sets_[set].selectable && sets_[set].rows_of_persons) {
                cut_by_person(sets_[set], indices[set], persons);
            } else {
                weighed[set] = by_weight(sets_[set], indices[set]);
                for (const auto& [weight, rows] : weighed[set]) {
                    const std::size_t together = clip_.after ? rows_of_weight(weight) : 1;
                    if (together > piece)
                        cut_by_person(sets_[set], rows, persons);
                    else
                        cut(sets_[set], rows, piece / together * together, work);
                }
            }
            message_[StepMessage::records] += static_cast<std::int64_t>(indices[set].size());
        }
        const std::size_t group =
            std::max<std::size_t>(1, bytes_per_thread_ / (layout.stride() * sizeof(std::int64_t)));
        for (std::size_t first = 0; first < variants.size(); first += group) {
            const std::span<const Variant> some =
                variants.subspan(first, std::min(group, variants.size() - first));
            linear ? sum_points(some, first, work) : sum_group(some, first, work);
            if (!persons.empty()) sum_persons(some, first, persons);
        }
        for (std::size_t v = 0; v < variants.size(); ++v) {
            if (!variants[v].is_point()) continue;  // of a point, one bound was computed for both
            std::copy_n(message_.begin() + static_cast<std::ptrdiff_t>(layout.lower(v)), layout.parameters,
                        message_.begin() + static_cast<std::ptrdiff_t>(layout.upper(v)));
        }
        return {message_.data(), message_.size(), nullptr};
    }

    std::span<std::int64_t> finish() override { return message_; }

    LeastEntries take_selection(std::size_t variant) override {
        LeastEntries taken = std::move(selections_[variant].value());
        selections_[variant].reset();
        return taken;
    }

    void outputs(const Variant& box, const LastLayer& last, std::span<const std::uint32_t> indices,
                 const std::function<void(const OutputBlock&)>& visit) override {
        const PackedNetwork<Real> parameters(network_, operations_, box.lower, box.upper);
        const auto layer = operations_.of_layer(network_.last())
                               .pack({network_.layers.back().in, last.rows}, last.lower, last.upper);
        std::vector<Work> work;
        cut(sets_.front(), indices, panel_height, work);
        const double products = 2.0 * static_cast<double>(indices.size() * network_.products());
        const auto answer = [&](OutputWorker& worker, std::size_t panel) {
            const BasicConstInterval<Real> features = worker.load(work[panel]);
            const BasicConstInterval<Real> values = worker.pass.outputs(parameters, *layer, features);
            visit(worker.block(panel * panel_height, last.rows, values));
        };
        share(
            threads_for(products), work.size(), [&] { return OutputWorker(*this, last.rows); }, answer,
            [](const OutputWorker&) {});
    }

  private:
    struct Worker {
        explicit Worker(const HostEngine& engine, std::size_t last_rows = 0)
            : pass(engine.network_, engine.operations_, last_rows) {}
        PanelPass<Real> pass;
    };

    /// A panel of records, and what poisoning could make of them.
    struct LoadedPanel {
        explicit LoadedPanel(const HostEngine& host) : engine(host), panel(host.operations_, host.network_) {}

        void load(const Work& work) {
            load_rows(panel, work);
            poison = work.records->poison;
            if (!poison || poison->input_radius == 0) return;
            load_rows(lower.emplace(engine.operations_, engine.network_, -poison->input_radius), work);
            load_rows(upper.emplace(engine.operations_, engine.network_, poison->input_radius), work);
        }
        PanelBounds<Real> poisoned() const {
            const bool moved = poison->input_radius > 0;
            return {moved ? *lower : panel, moved ? *upper : panel};
        }
        static void load_rows(Panel<Real>& panel, const Work& work) {
            panel.load(*work.records, work.indices);
            panel.make_rows();
        }

        const HostEngine& engine;
        Panel<Real> panel;
        std::optional<Panel<Real>> lower, upper;
        std::optional<Poison> poison;
    };

    /// A whole step at points, and a thread's own sums of a group, laid out as a message.
    struct PointWorker {
        PointWorker(const HostEngine& engine, std::size_t variants)
            : step(engine.operations_.linear_step(engine.network_, engine.clip_)),
              layout(StepMessage::of(variants, engine.network_)),
              sums(layout.size(), 0) {}
        std::unique_ptr<LinearStep> step;
        StepMessage layout;
        std::vector<std::int64_t> sums;
    };

    /// With a thread's own sums of a group, laid out as a message.
    struct SumWorker : Worker {
        SumWorker(const HostEngine& host, std::size_t variants, std::size_t panel_count)
            : Worker(host),
              clip(host.clip_),
              dropout(host.dropout_),
              layout(StepMessage::of(variants, host.network_)),
              sums(layout.size(), 0) {
            if (panel_count > 1) gathered = host.operations_.outer_sums(host.network_, host.clip_);
            for (std::size_t i = 0; i < panel_count; ++i) panels.emplace_back(host);
        }

        void load(std::span<const Work> work) {
            loaded = work.size();
            for (std::size_t i = 0; i < loaded; ++i) panels[i].load(work[i]);
        }
        /// What is loaded, panel by panel; to(panel): the sums that it adds to.
        template <typename Sums>
        void add(const PackedNetwork<Real>& parameters, Sums to) {
            for (std::size_t i = 0; i < loaded; ++i) add(parameters, panels[i], to(i));
            if (gathered != nullptr) gathered->finish();
        }
        void add(const PackedNetwork<Real>& parameters, const LoadedPanel& from, const VariantSums& to) {
            if (!from.poison || to.selection == nullptr)
                return this->pass.add_gradients(parameters, from.panel, clip, dropout, to,
                                                from.panel.weight() ? nullptr : gathered.get());
            this->pass.add_poisonable(parameters, from.panel, from.poisoned(), *from.poison, clip, to);
        }

        Clip clip;
        const DropoutFactors<Real>& dropout;
        StepMessage layout;
        std::vector<std::int64_t> sums;
        std::unique_ptr<OuterSums<Real>> gathered;
        std::deque<LoadedPanel> panels;
        std::size_t loaded = 0;
    };

    /// With what one person's rows come to at a variant.
    struct PersonWorker : SumWorker {
        PersonWorker(const HostEngine& host, std::size_t variants)
            : SumWorker(host, variants, 1),
              lower(host.network_.parameters()),
              upper(host.network_.parameters()),
              change_lower(lower.size()),
              change_upper(lower.size()) {
            this->clip.rows = this->clip.after ? 0 : 1;  // of more rows, perhaps, than a panel has
        }

        /// `to` are the sums that the person adds to.
        void add_person(const PackedNetwork<Real>& parameters, const Work& person, VariantSums to) {
            ensure(!this->clip.after || !this->clip.by_scales() || person.indices.size() <= panel_height,
                   "rows that share a scale are in one panel");
            LeastEntries* const selection = std::exchange(to.selection, nullptr);
            const SumBounds sums = to.sums;
            const bool point = sums.lower == sums.upper;
            to.sums = {lower.data(), point ? lower.data() : upper.data()};
            for (std::vector<std::int64_t>* ends : {&lower, &upper, &change_lower, &change_upper})
                ends->assign(lower.size(), 0);
            for (std::size_t first = 0; first < person.indices.size(); first += panel_height) {
                const Work rows{
                    person.records,
                    person.indices.subspan(first, std::min(panel_height, person.indices.size() - first))};
                this->load({&rows, 1});
                const LoadedPanel& panel = this->panels.front();
                if (!panel.poison || selection == nullptr) {
                    this->add(parameters, panel, to);
                    continue;
                }
                if (!changes || changes->upper.count() < rows.indices.size())
                    changes.emplace(lower.size(), rows.indices.size());
                to.selection = &*changes;  // every row's, to be added
                this->add(parameters, panel, to);
                take_sums(changes->upper, change_upper);
                take_sums(changes->negated_lower, change_lower);
            }
            if (this->clip.after) clamp_sums();
            for (std::size_t p = 0; p < lower.size(); ++p) {
                sums.lower[p] += lower[p];
                if (!point) sums.upper[p] += upper[p];
            }
            if (selection != nullptr) offer(*selection, person.records->poison.has_value());
        }

      private:
        /// Entries of a person, and what poison adds to them; no clip by factors, so one limit holds for all.
        void clamp_sums() {
            const std::int64_t limit = this->clip.template weight_units<Real>();
            const auto clamped = [&](std::int64_t sum) { return std::clamp(sum, -limit, limit); };
            for (std::size_t p = 0; p < lower.size(); ++p) {
                change_upper[p] = clamped(upper[p]) - clamped(upper[p] - change_upper[p]);
                change_lower[p] = clamped(lower[p] + change_lower[p]) - clamped(lower[p]);
                lower[p] = clamped(lower[p]);
                upper[p] = clamped(upper[p]);
            }
        }
        static void take_sums(Selection& rows, std::vector<std::int64_t>& sums) {
            for (std::size_t p = 0; p < sums.size(); ++p) {
                for (const std::int64_t value : rows.values(p)) sums[p] += value;
                rows.take_back(p, 0);
            }
        }
        /// A person's entries; of one who may be poisoned the changes, where there are any.
        void offer(LeastEntries& selection, bool changed) const {
            selection.upper.for_each_stripe(1, [&](std::size_t) {
                for (std::size_t p = 0; p < lower.size(); ++p) {
                    if (!changed || change_upper[p] < 0)
                        selection.upper.insert(p, changed ? change_upper[p] : upper[p]);
                    if (!changed || change_lower[p] < 0)
                        selection.negated_lower.insert(p, changed ? change_lower[p] : -lower[p]);
                }
            });
        }

        std::vector<std::int64_t> lower, upper, change_lower, change_upper;  // [parameters]
        std::optional<LeastEntries> changes;
    };

    /// Outputs are handed on as doubles, which hold every Real.
    struct OutputWorker : Worker {
        OutputWorker(const HostEngine& engine, std::size_t last_rows)
            : Worker(engine, last_rows),
              radius(engine.sets_.front().input_radius),
              panel(engine.operations_, engine.network_, -radius) {
            if (radius > 0) above.emplace(engine.operations_, engine.network_, radius);
        }
        /// What the records of a panel are, or may be.
        BasicConstInterval<Real> load(const Work& work) {
            panel.load(*work.records, work.indices);
            if (above) above->load(*work.records, work.indices);
            return {panel.by_feature(), (above ? *above : panel).by_feature()};
        }
        OutputBlock block(std::size_t first, std::size_t rows, BasicConstInterval<Real> values) {
            const double* low = wide(values.lower, rows, lower);
            return {first, panel.count(), panel_height, low,
                    values.is_point() ? low : wide(values.upper, rows, upper)};
        }
        double radius;
        Panel<Real> panel;
        std::optional<Panel<Real>> above;  // of records that may move

      private:
        static const double* wide(const double* values, std::size_t, std::vector<double>&) { return values; }
        static const double* wide(const float* values, std::size_t rows, std::vector<double>& copy) {
            copy.assign(values, values + rows * panel_height);
            return copy.data();
        }
        std::vector<double> lower, upper;
    };

    /// Do these operations have a way of their own, without panels?
    bool is_linear(std::span<const Variant> variants) const {
        return network_.layers.size() == 1 && network_.is_dense() &&
               operations_.linear_step(network_, clip_) != nullptr &&
               std::all_of(variants.begin(), variants.end(),
                           [](const Variant& variant) { return variant.is_point(); });
    }

    /// Where the sums of a group begin in the message.
    std::size_t start_of(std::size_t first_variant) const {
        return StepMessage::of(selections_.size(), network_).lower(first_variant);
    }

    /// All records at the points of one group, which are those from `first_variant` on.
    void sum_points(std::span<const Variant> variants, std::size_t first_variant,
                    const std::vector<Work>& work) {
        std::vector<std::unique_ptr<PackedLayer>> points;
        for (const Variant& variant : variants)
            points.push_back(operations_.pack(network_.layers.front(), variant.lower, variant.upper));
        const Sharing sharing(network_, linear_block, work.size(), variants.size());
        const auto add = [&](PointWorker& worker, std::size_t piece) {
            const Work& part = work[sharing.first_panel(piece)];
            for (std::size_t v = sharing.first_variant(piece); v < sharing.last_variant(piece); ++v) {
                std::int64_t* correct = worker.sums.data() + worker.layout.surely_correct(v);
                const std::int64_t before = *correct;
                worker.step->add(*points[v], *part.records, part.indices,
                                 worker.sums.data() + worker.layout.lower(v), *correct);
                correct[1] += *correct - before;  // surely is possibly, of a point
            }
        };
        const std::size_t at = start_of(first_variant);
        share(
            sharing.threads, sharing.pieces, [&] { return PointWorker(*this, variants.size()); }, add,
            [&](const PointWorker& worker) {
                for (std::size_t i = 1; i < worker.sums.size(); ++i) message_[at + i - 1] += worker.sums[i];
            });
    }

    /// All panels at the variants of one group, which are those from `first_variant` on.
    void sum_group(std::span<const Variant> variants, std::size_t first_variant,
                   const std::vector<Work>& work) {
        std::vector<PackedNetwork<Real>> packed;
        for (const Variant& variant : variants)
            packed.emplace_back(network_, operations_, variant.lower, variant.upper);
        const bool selecting = std::any_of(variants.begin(), variants.end(),
                                           [](const Variant& variant) { return variant.selected > 0; });
        const Sharing sharing(network_, panel_height, work.size(), variants.size(),
                              operations_.panels_together(network_, clip_, selecting));
        const auto add = [&](SumWorker& worker, std::size_t piece) {
            const std::span<const Work> some(work.begin() + sharing.first_panel(piece),
                                             work.begin() + sharing.last_panel(piece));
            worker.load(some);
            for (std::size_t v = sharing.first_variant(piece); v < sharing.last_variant(piece); ++v) {
                std::optional<LeastEntries>& selection = selections_[first_variant + v];
                worker.add(packed[v], [&](std::size_t panel) {
                    const bool selects = selection && some[panel].records->selectable;
                    return sums_of(worker, packed[v], first_variant, v, selects ? &*selection : nullptr);
                });
            }
        };
        share(
            sharing.threads, sharing.pieces,
            [&] { return SumWorker(*this, variants.size(), sharing.together); }, add,
            [&](const SumWorker& worker) { add_sums(worker, first_variant); });
    }

    /// The same of persons whose rows are selected together (models/mathematics.md, rows of a person).
    void sum_persons(std::span<const Variant> variants, std::size_t first_variant,
                     const std::vector<Work>& persons) {
        std::vector<PackedNetwork<Real>> packed;
        for (const Variant& variant : variants)
            packed.emplace_back(network_, operations_, variant.lower, variant.upper);
        const Sharing sharing(network_, panel_height, persons.size(), variants.size());
        const auto add = [&](PersonWorker& worker, std::size_t piece) {
            for (std::size_t v = sharing.first_variant(piece); v < sharing.last_variant(piece); ++v) {
                std::optional<LeastEntries>& selection = selections_[v + first_variant];
                worker.add_person(
                    packed[v], persons[sharing.first_panel(piece)],
                    sums_of(worker, packed[v], first_variant, v, selection ? &*selection : nullptr));
            }
        };
        share(
            sharing.threads, sharing.pieces, [&] { return PersonWorker(*this, variants.size()); }, add,
            [&](const PersonWorker& worker) { add_sums(worker, first_variant); });
    }

    /// Where a worker adds what it finds at variant v of a group.
    VariantSums sums_of(SumWorker& worker, const PackedNetwork<Real>& packed, std::size_t first_variant,
                        std::size_t v, LeastEntries* selection) const {
        const bool counted = first_variant + v + 1 == selections_.size() && !packed.is_point();
        std::int64_t* lower = worker.sums.data() + worker.layout.lower(v);
        std::int64_t* upper = worker.sums.data() + worker.layout.upper(v);
        return {{lower, packed.is_point() ? lower : upper},
                worker.sums.data() + worker.layout.surely_correct(v),
                selection,
                counted ? worker.sums.data() + worker.layout.undecided(0) : nullptr};
    }
    /// What a worker has of a group, to the message.
    void add_sums(const SumWorker& worker, std::size_t first_variant) {
        const StepMessage whole = StepMessage::of(selections_.size(), network_);
        const std::size_t at = start_of(first_variant), counts = worker.layout.undecided(0);
        for (std::size_t i = 1; i < counts; ++i) message_[at + i - 1] += worker.sums[i];
        for (std::size_t l = 0; l < whole.hidden; ++l)
            message_[whole.undecided(l)] += worker.sums[counts + l];
    }

    std::unique_ptr<PanelOperations<Real>> bound_;
    const PanelOperations<Real>& operations_;
    NetworkShape network_;
    Clip clip_;
    std::size_t bytes_per_thread_;
    std::vector<RecordSet> sets_;
    DropoutFactors<Real> dropout_;
    std::vector<std::int64_t> message_;
    std::vector<std::optional<LeastEntries>> selections_;  // [variants of the last run], shared by threads
};

template <typename Real>
class HostBackend final : public Backend {
  public:
    HostBackend(std::unique_ptr<PanelOperations<Real>> operations, std::size_t bytes_per_thread)
        : operations_(std::move(operations)), bytes_per_thread_(bytes_per_thread) {}
    std::string name() const override { return operations_->name(); }
    Arithmetic arithmetic() const override { return operations_->arithmetic(); }
    std::unique_ptr<Engine> engine(const NetworkShape& network, const Clip& clip) const override {
        return std::make_unique<HostEngine<Real>>(*operations_, network, clip, bytes_per_thread_);
    }

  private:
    std::unique_ptr<PanelOperations<Real>> operations_;
    std::size_t bytes_per_thread_;
};

}  // namespace

template <typename Real>
std::unique_ptr<Backend> make_host_backend(std::unique_ptr<PanelOperations<Real>> operations,
                                           std::size_t bytes_per_thread) {
    return std::make_unique<HostBackend<Real>>(std::move(operations), bytes_per_thread);
}
template std::unique_ptr<Backend> make_host_backend(std::unique_ptr<PanelOperations<double>>, std::size_t);
template std::unique_ptr<Backend> make_host_backend(std::unique_ptr<PanelOperations<float>>, std::size_t);

}  // namespace holdfast
