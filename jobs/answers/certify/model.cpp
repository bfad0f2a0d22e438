#include "jobs/answers/certify/model.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/program/queries.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/robust/attack.hpp"

namespace holdfast {
namespace {

/// How many queries are answered right, or as they are where no label is known.
struct Counts {
    std::int64_t clean = 0;
    std::vector<std::int64_t> certified;              ///< [radii] for certain
    std::vector<std::vector<std::int64_t>> attacked;  ///< [radii, attacks] for all that an attack found
    std::vector<std::int64_t> robust;                 ///< [radii] for all that they found together

    Counts(std::size_t radii, std::size_t attacks)
        : certified(radii), attacked(radii, std::vector<std::int64_t>(attacks)), robust(radii) {}
    void add_ranks(const Communicator& world) {
        world.sum(std::span(&clean, 1));
        world.sum(certified);
        world.sum(robust);
        for (std::vector<std::int64_t>& row : attacked) world.sum(row);
    }
};

std::vector<double> ascending(std::vector<double> radii) {
    for (const double radius : radii) {
        if (!(radius > 0) || !std::isfinite(radius))
            throw Error(ExitCode::usage, "a radius is a number above 0", "give one or several, as .01,.02",
                        "--input-radius");
    }
    if (radii.empty())
        throw Error(ExitCode::usage, "how far a query may move is not said",
                    "give a radius or several in the units of the features, as --input-radius .01,.02",
                    "--input-radius");
    std::sort(radii.begin(), radii.end());
    radii.erase(std::unique(radii.begin(), radii.end()), radii.end());
    return radii;
}

std::string table_of(const InputCertificates& certificates) {
    std::string text = "row,label,radius\n";
    for (std::size_t q = 0; q < certificates.labels.size(); ++q)
        text += printed("%zu,%d,%.17g\n", q, static_cast<int>(certificates.labels[q]), certificates.radii[q]);
    return text;
}

/// The same on all ranks: root makes it where there is none.
SecretKey service_key(const Communicator& world, const std::string& path) {
    if (world.is_root() && !std::filesystem::exists(path)) SecretKey::fresh().write_new(path);
    world.barrier();
    return SecretKey::read(path);
}

/// question.smoothing: of the whole file.
InputCertificates certificates_of(const Model& model, const Backend& backend, Norm norm,
                                  const ModelQuestion& question, const std::optional<SecretKey>& key,
                                  const std::vector<double>& radii, const Records& queries) {
    if (key) return certify_smoothed(model, backend, norm, question.smoothing, *key, queries);
    if (norm == Norm::l1)
        throw Error(ExitCode::usage, "radii in l1 are proved of a smoothed model alone",
                    "give the noise, --smoothing .5, or ask --norm linf or l2", "--norm");
    return norm == Norm::linf ? certify_boxes(model, backend, radii, queries)
                              : certify_l2_radii(model, backend, queries);
}

/// truth: [queries]. Within a certified radius no attack may succeed.
Counts counted(const Model& model, const Backend& backend, const ModelQuestion& question, Norm norm,
               const std::vector<double>& radii, const Records& queries,
               const InputCertificates& certificates, const std::vector<std::int32_t>& truth) {
    Counts counts(radii.size(), question.attacks.size());
    std::vector<char> right;
    for (std::size_t q = 0; q < truth.size(); ++q)
        right.push_back(truth[q] != abstention && certificates.labels[q] == truth[q] ? 1 : 0);
    const auto number = [](const std::vector<char>& flags) {
        return std::count(flags.begin(), flags.end(), 1);
    };
    counts.clean = number(right);
    std::vector<std::vector<char>> stands(question.attacks.size(), right);  // within the radii so far
    std::optional<Attacker> attacker;
    if (!stands.empty()) attacker.emplace(model, backend, queries);
    for (std::size_t i = 0; i < radii.size(); ++i) {
        std::vector<char> robust = right;
        for (std::size_t a = 0; a < stands.size(); ++a) {
            const Attack attack{question.attacks[a], question.steps, question.restarts};
            const std::vector<char> fell = attacker->succeed(attack, norm, radii[i], truth, stands[a]);
            for (std::size_t q = 0; q < truth.size(); ++q) {
                if (fell[q] != 0) stands[a][q] = 0;
                if (stands[a][q] == 0) robust[q] = 0;
            }
            counts.attacked[i][a] = number(stands[a]);
        }
        counts.robust[i] = number(robust);
        for (std::size_t q = 0; q < truth.size(); ++q) {
            if (right[q] == 0 || certificates.radii[q] < radii[i]) continue;
            ensure(robust[q] != 0, "no attack within a certified radius succeeds");
            ++counts.certified[i];
        }
    }
    return counts;
}

/// At this radius, where both were made: does square, which asks for no gradient, leave over a hundredth
/// fewer answers than pgd? The gradients lead nowhere then.
std::optional<bool> masked_gradients(const ModelQuestion& question, const std::vector<std::int64_t>& attacked,
                                     std::size_t queries) {
    const auto left = [&](const char* name) -> std::optional<std::int64_t> {
        const auto found = std::find(question.attacks.begin(), question.attacks.end(), name);
        if (found == question.attacks.end()) return std::nullopt;
        return attacked[static_cast<std::size_t>(found - question.attacks.begin())];
    };
    const auto square = left("square"), pgd = left("pgd");
    if (!square || !pgd) return std::nullopt;
    return 100 * (*pgd - *square) > static_cast<std::int64_t>(queries);
}

std::string text_of(const ModelQuestion& question, const std::vector<double>& radii, const Counts& counts,
                    std::size_t queries, bool labelled) {
    std::string text = "radius    certified";
    const auto heading = [&](const std::string& name) {
        text += "  " + name + std::string(8 - name.size(), ' ');
    };
    if (!question.attacks.empty()) heading("robust");
    for (const std::string& attack : question.attacks) heading(attack);
    text += std::string("   (fraction ") + (labelled ? "right" : "whose label stands") + " of " +
            std::to_string(queries) + " queries; " + question.norm + ", in units of the features)\n";
    const auto row = [&](double radius, std::int64_t certified, std::int64_t robust, const auto& attacked) {
        text += printed("%-10.6g", radius);
        const auto add = [&](std::int64_t count) {
            text += printed("%-10.4f", static_cast<double>(count) / static_cast<double>(queries));
        };
        add(certified);
        text += " ";
        if (!question.attacks.empty()) add(robust);
        for (const std::int64_t count : attacked) add(count);
        text.erase(text.find_last_not_of(' ') + 1);
        text += "\n";
    };
    row(0, counts.clean, counts.clean, std::vector<std::int64_t>(question.attacks.size(), counts.clean));
    for (std::size_t i = 0; i < radii.size(); ++i)
        row(radii[i], counts.certified[i], counts.robust[i], counts.attacked[i]);
    for (std::size_t i = 0; i < radii.size(); ++i)
        if (masked_gradients(question, counts.attacked[i], queries).value_or(false))
            text += printed("masked gradients at %g: square, which follows none, leaves fewer than pgd\n",
                            radii[i]);
    return text;
}

/// Shares of right answers by radius, 0 first: the certificate, and above it each attack.
std::string page_of(const ModelQuestion& question, const std::vector<double>& radii, const Counts& counts,
                    std::size_t queries, bool labelled, const Guarantee& claim) {
    LineChart chart{
        .description = "Share of queries by how far they move",
        .x = {.title = "radius in " + question.norm + ", units of the features", .lowest = 0.0},
        .y = {.title = labelled ? "right" : "label stands", .lowest = 0.0, .highest = 1.0, .percent = true},
        .width = html::full_width};
    const auto add = [&](const std::string& name, const auto& count_at) {
        Series line{.label = name, .x = {0}, .y = {static_cast<double>(counts.clean)}};
        for (std::size_t i = 0; i < radii.size(); ++i) {
            line.x.push_back(radii[i]);
            line.y.push_back(static_cast<double>(count_at(i)));
        }
        for (double& share : line.y) share /= static_cast<double>(queries);
        line.colour = static_cast<int>(chart.series.size()) % series_colours;
        line.dots = true;
        chart.series.push_back(line);
    };
    add("certified", [&](std::size_t i) { return counts.certified[i]; });
    for (std::size_t a = 0; a < question.attacks.size(); ++a)
        add(question.attacks[a], [&](std::size_t i) { return counts.attacked[i][a]; });
    const std::string answers = count_text(static_cast<long long>(queries)) + " answers of " +
                                html::code(question.model) +
                                (question.smoothing.noise != 0 ? ", given most often under noise," : "");
    std::string lead = "How many of " + answers + " stand wherever the query moves within a radius";
    if (!question.attacks.empty()) lead += ", and what attacks that know every parameter leave of them";
    return html::page("Holdfast: " + question.model + " where queries move",
                      html::element("h1", "Where queries move") + html::element("p", lead + ".") +
                          html::chart_card("", draw(chart)) + html::heading("What is certified", "") +
                          html::element("p", escape_html(claim.text())));
}

}  // namespace

void certify_model(const Context& context, ModelQuestion question) {
    // 1. The model, and queries that fit it.
    const Norm norm = norm_named(question.norm);
    const std::vector<double> radii = ascending(question.radii);
    const auto [model, digest] = read_model(question.model);
    const Records all = read_queries(context, {model.feature_map(), model.schema}, question.queries);
    const bool labelled = !all.labels.empty();
    if (labelled) require_labels(all, model.network.classes(), question.queries);
    const bool smoothed = question.smoothing.noise != 0 || !question.service_key.empty();
    question.smoothing.queries = all.size();
    std::optional<SecretKey> key;
    if (smoothed) {
        check_smoothing(model, question.smoothing);
        leave_no_core_file();
        key = smoothing_key(service_key(context.world, question.service_key), model, digest, all);
    }

    // 2. Certificates of this rank's queries, and attacks on them.
    const auto [first, last] = share_of(context.world, all.size());
    const Records queries = part_of(all, first, last);
    const auto backend = make_backend("cpu", model.precision);
    const InputCertificates mine = certificates_of(model, *backend, norm, question, key, radii, queries);
    const std::vector<std::int32_t> truth =
        labelled ? std::vector<std::int32_t>(all.labels.begin() + static_cast<std::ptrdiff_t>(first),
                                             all.labels.begin() + static_cast<std::ptrdiff_t>(last))
                 : mine.labels;
    Counts counts = counted(model, *backend, question, norm, radii, queries, mine, truth);
    counts.add_ranks(context.world);

    // 3. The table, what it promises, and to whom.
    const InputCertificates certificates{gathered(context.world, mine.labels),
                                         gathered(context.world, mine.radii)};
    if (!question.out.empty() && context.world.is_root())
        write_file_atomically(question.out, std::string_view(table_of(certificates)));
    const Guarantee claim = smoothed ? smoothing_claim(model, norm, question.smoothing) : input_claim(norm);
    if (!question.page.empty() && context.world.is_root())
        write_file_atomically(
            question.page, std::string_view(page_of(question, radii, counts, all.size(), labelled, claim)));
    nlohmann::json rows = nlohmann::json::array();
    const auto fraction = [&](std::int64_t count) {
        return static_cast<double>(count) / static_cast<double>(all.size());
    };
    for (std::size_t i = 0; i < radii.size(); ++i) {
        nlohmann::json row = {{"radius", radii[i]}, {"certified", fraction(counts.certified[i])}};
        if (!question.attacks.empty()) row["robust"] = fraction(counts.robust[i]);
        for (std::size_t a = 0; a < question.attacks.size(); ++a)
            row["attacks"][question.attacks[a]] = fraction(counts.attacked[i][a]);
        if (const auto masked = masked_gradients(question, counts.attacked[i], all.size()))
            row["masked_gradients"] = *masked;
        rows.push_back(row);
    }
    const auto abstentions = std::count(certificates.labels.begin(), certificates.labels.end(), abstention);
    nlohmann::json object = {{"model", digest},
                             {"norm", question.norm},
                             {"queries", all.size()},
                             {"labelled", labelled},
                             {"clean", fraction(counts.clean)},
                             {"radii", rows},
                             {"robustness", claim.to_json()},
                             {"privacy", model.guarantee}};
    if (smoothed)
        object["smoothing"] = {{"noise", question.smoothing.noise},     {"draws", question.smoothing.draws},
                               {"guesses", question.smoothing.guesses}, {"unit", smoothing_unit(model)},
                               {"alpha", question.smoothing.alpha},     {"abstentions", abstentions}};
    context.print(object, text_of(question, radii, counts, all.size(), labelled) +
                              Guarantee::lines_of(claim.to_json(), "robustness at the query: ") + "\n" +
                              Guarantee::lines_of(model.guarantee, "privacy of records: ") + "\n");
}

}  // namespace holdfast
