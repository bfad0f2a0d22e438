#include "jobs/data/measure/private_labels.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/comm/communicator.hpp"
#include "dist/data/statistics.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t drawn_rows = 16384;

/// Whatever of the table is not its labels is to be public, and to say nothing of them.
void check_public(const DatasetInfo& info) {
    const auto refuse = [&](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::input, message, hint, info.path);
    };
    if (info.population.empty())
        refuse("does not say whose records it holds",
               "make it again with: holdfast import … --population NAME");
    if (!info.has_labels) refuse("has no labels of classes", "draw those of a classifier's dataset");
    if (!info.label_law.empty()) refuse("its labels were drawn already", "train on it");
    if (info.ids == IdKind::content || info.dealt == Dealt::content)
        refuse("an id is a hash of its record, label included, and would show it",
               "import the table with --id, or with row numbers");
    if (info.labels_select)
        refuse("rows with none of the stated labels were left out, so the number of records tells labels",
               "import the table with --missing error, which refuses such rows");
    if (info.rows_at_most > 1)
        refuse("a person has several rows, and a label in each",
               "make one record of them: import --aggregate");
    if (!info.measured.empty())
        refuse("its constants were drawn from records and labels, and paid for by another account",
               "draw the labels of a table whose constants are public");
}

/// Of every row, its place by ascending id; and the labels in that order.
struct LabelledIds {
    std::vector<std::size_t> places;
    std::vector<std::int32_t> labels;
};

LabelledIds labels_by_id(const DatasetReader& reader, std::size_t classes) {
    const DatasetInfo& info = reader.info();
    const std::vector<std::uint64_t> ids = reader.read_ids(0, info.rows);
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
    LabelledIds all{std::vector<std::size_t>(ids.size()), std::vector<std::int32_t>(ids.size())};
    for (std::size_t place = 0; place < order.size(); ++place) all.places[order[place]] = place;
    reader.visit([&](const Records& slab) {
        for (std::size_t i = 0; i < slab.size(); ++i) {
            if (static_cast<std::size_t>(slab.labels[i]) >= classes)
                throw Error(ExitCode::input,
                            "row " + std::to_string(slab.rows[i]) + " has no label of " +
                                std::to_string(classes) + " classes",
                            "state how many there are: --classes", info.path);
            all.labels[all.places[slab.rows[i]]] = slab.labels[i];
        }
    });
    return all;
}

/// The records with evidence in place of what their labels were, slab by slab, while nothing else is read:
/// `use` may write.
void for_each_drawn(const DatasetReader& reader, const LabelledIds& all, std::size_t classes,
                    const std::vector<std::uint8_t>& evidence,
                    const std::function<void(const Records&)>& use) {
    for (std::uint64_t first = 0, rows = reader.info().rows; first < rows; first += drawn_rows) {
        Records drawn = reader.read(first, std::min(drawn_rows, rows - first));
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            const std::size_t place = all.places[drawn.rows[i]];
            const auto of_row = std::span(evidence).subspan(place * classes, classes);
            drawn.evidence.insert(drawn.evidence.end(), of_row.begin(), of_row.end());
        }
        drawn.labels = likeliest_labels(drawn.evidence, drawn.ids);
        use(drawn);
    }
}

/// No other split: their labels are as private, and were not drawn.
void write_drawn(const DatasetReader& reader, const LabelledIds& all, const LabelLaw& law,
                 const std::vector<std::uint8_t>& evidence, const std::string& path) {
    const DatasetInfo& info = reader.info();
    DatasetWriter writer(path);
    writer.begin_split(info.split, info.features, info.wide);
    for_each_drawn(reader, all, law.classes, evidence, [&](const Records& slab) { writer.append(slab); });
    PublicFacts facts = info;
    facts.label_law = law.to_text();
    writer.set_facts(facts);
    if (!info.image_shape.empty()) writer.set_image_shape(info.image_shape);
    const auto file = hdf5::File::open_read(info.path);
    writer.set_names(read_names(file));
    if (file.has_attribute("class_names"))
        writer.set_attribute("class_names", file.read_text_attribute("class_names"));
    writer.commit();
}

std::string text_of(const LabelChoice& choice, const DatasetInfo& info, const LabelLaw& law, bool charged,
                    const std::string& guarantee) {
    const double likelihood = std::exp(law.unit());
    const std::string how =
        law.form == "response"
            ? printed("each stays with probability %.4f",
                      likelihood / (likelihood + static_cast<double>(law.classes - 1)))
            : printed("evidence of 0 to %d a class under noise of %lld", static_cast<int>(LabelLaw::whole),
                      static_cast<long long>(law.scale()));
    return choice.out + ": " + std::to_string(info.rows) + " labels of " + std::to_string(law.classes) +
           " classes drawn, " + how + "; split " + info.split + " alone\n" + "cost epsilon " +
           round_up_text(shown(law.epsilon), 4) +
           (charged ? ", charged\n" : ", charged before: nothing now\n") +
           Guarantee::lines_of(nlohmann::json::parse(guarantee)) + "\n" +
           next_command({"train", "--data", choice.out, "--set", "training.kind=noisy", "--set",
                         "noise.law=none", "--set", "clip.kind=norm", "--set", "training.labels=corrected",
                         "--set", "network.loss=cross_entropy", "--set",
                         "network.classes=" + std::to_string(law.classes), "--out",
                         beside_dataset(choice.out, "-run")});
}

}  // namespace

void draw_private_labels(const Context& context, const LabelChoice& choice) {
    // 1. Whose labels, by which law, and who can pay.
    if (!choice.epsilon)
        throw Error(ExitCode::usage, "what the labels may cost is not stated",
                    "give --epsilon: it is charged to the ledger", "--epsilon");
    if (!context.world.is_root()) return context.world.barrier();
    require_ledger(choice.ledger);
    const DatasetReader reader(choice.data);
    const DatasetInfo& info = reader.info();
    check_public(info);
    require_unique_ids(reader);
    const std::size_t classes = choice.classes.value_or(stated_classes(info));
    if (classes < 2 || classes > 256)
        throw Error(ExitCode::usage, "not from 2 to 256", "give the public number of classes", "--classes");
    const LabelLaw law = LabelLaw::of(choice.form, classes, *choice.epsilon);
    const std::string digest = digest_of_records(reader);
    Ledger ledger(choice.ledger);
    const std::optional<std::string> population = ledger.population_of(digest);
    if (!population)
        throw Error(ExitCode::usage, "this ledger knows no population of the data",
                    "its owner adds them: holdfast account --ledger " + choice.ledger + " --data " +
                        choice.data + " --budget EPSILON --relation label",
                    choice.ledger);

    // 2. Charged, then drawn, then kept: the same again is what was kept.
    const LabelledIds all = labels_by_id(reader, classes);
    Payment payment = payment_for(law);
    payment.guarantee = claim_about_drawn_labels(facts_of(info, false), law.epsilon).to_json().dump();
    payment.token =
        ledger.token_of(nlohmann::json{payment.mechanism, *population, digest, payment.parameters}.dump());
    const BoughtText bought = ledger.buy(digest, payment, [&] {
        SystemRandomBits bits;
        DrawnLabels drawn{"", draw_labels(all.labels, law, bits)};
        RecordDigest records;
        for_each_drawn(reader, all, classes, drawn.evidence, [&](const Records& slab) { records.add(slab); });
        drawn.dataset = records.hex(*make_serial_communicator());
        return drawn.to_text();
    });

    // 3. The dataset of these labels, another version of its population's data.
    const DrawnLabels drawn = DrawnLabels::of(bought.text, choice.ledger);
    write_drawn(reader, all, law, drawn.evidence, choice.out);
    const DatasetIdentity written = identify(DatasetReader(choice.out + ":" + info.split));
    ensure(written.digest == drawn.dataset, "the file has the labels that were kept");
    ledger.add_version(*population, written.digest, written.ids, std::nullopt,
                       {written.id_kind, written.contents, true});

    // 4. What was drawn, and what it cost.
    context.print({{"path", choice.out},
                   {"charged", bought.charged},
                   {"law", law.form},
                   {"classes", classes},
                   {"cost", {{"epsilon", shown(law.epsilon)}, {"delta", 0}}},
                   {"guarantee", nlohmann::json::parse(payment.guarantee)}},
                  text_of(choice, info, law, bought.charged, payment.guarantee));
    context.world.barrier();
}

}  // namespace holdfast
