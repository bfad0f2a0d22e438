// How much wider boxes are than what trainings on all neighbours reach:
//   build/tightness --records 40 --epochs 3 --batches 2 --k 1

#include <CLI/CLI.hpp>
#include <cstdio>

#include "kernels/base/error.hpp"
#include "tools/checks/tightness.hpp"

int main(int argc, char** argv) {
    using namespace holdfast;
    TightnessProblem problem;
    CLI::App app("Widths of boxes beside what trainings on every neighbour of a catalogue reach");
    app.add_option("--records", problem.records, "Records")->check(CLI::Range(1, 500))->capture_default_str();
    app.add_option("--epochs", problem.epochs, "Epochs")->check(CLI::Range(1, 100))->capture_default_str();
    app.add_option("--batches", problem.batches, "Batches an epoch")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--k", problem.k, "Changed records")->check(CLI::Range(1, 2))->capture_default_str();
    app.add_option("--gamma", problem.gamma, "Clip of an entry")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--rate", problem.learning_rate, "Learning rate")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--seed", problem.seed, "Of records, weights and batches")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    std::printf("%-11s %-10s %4s %5s %10s %10s %10s %7s %7s\n", "relation", "budget", "step", "layer",
                "reached", "box", "core", "box/r", "core/r");
    try {
        for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
            for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
                problem.relation = relation;
                problem.charge_rule = rule;
                const Tightness tightness = tightness_of(problem);
                for (const TightnessRow& row : tightness.rows) {
                    std::printf("%-11s %-10s %4lld %5zu %10.3g %10.3g %10.3g %7.2f %7.2f\n",
                                name_of(relation), name_of(rule), static_cast<long long>(row.step + 1),
                                row.layer + 1, row.reached, row.box, row.core, row.box / row.reached,
                                row.core / row.reached);
                }
                if (!tightness.held) {
                    std::printf("a neighbour left its box\n");
                    return 1;
                }
            }
        }
    } catch (const Error& error) {
        std::fprintf(stderr, "tightness: %s\n", error.what());
        return static_cast<int>(error.code());
    }
    return 0;
}
