// attack --seed S --count N [--single | --fixed [--activation-bits 8]] [--one-step | --persons]: N enclosure,
// N poisoning and N smoothness problems, and as many of persons with several rows and of one step, each
// several attacks; exit 0 only without violations.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/checks/attack.hpp"

int main(int argc, char** argv) {
    using namespace holdfast;
    std::uint64_t seed = 1, count = 1000;
    Precision precision = Precision::double_precision;
    int activation_bits = 16;
    CLI::App app{
        "Retrains on neighbouring datasets made to hurt and looks for one parameter outside its box.",
        "attack"};
    app.add_option("--seed", seed, "First seed")->capture_default_str();
    app.add_option("--count", count, "Problems of each kind")->capture_default_str();
    app.add_flag_callback(
        "--single", [&] { precision = Precision::single_precision; }, "Train in single precision");
    app.add_flag_callback(
        "--fixed", [&] { precision = Precision::fixed; }, "Train in fixed precision");
    app.add_option("--activation-bits", activation_bits, "Of fixed precision")
        ->check(CLI::IsMember({16, 8}))
        ->capture_default_str();
    bool one_step = false, persons = false;
    CLI::Option* alone = app.add_flag("--one-step", one_step, "Problems of one step alone");
    app.add_flag("--persons", persons, "Problems of persons with several rows alone")->excludes(alone);
    CLI11_PARSE(app, argc, argv);
    const Arithmetic arithmetic(precision, activation_bits);
    AttackReport total;
    // Problems are shared out; within one, threads would only wait for each other.
#pragma omp parallel for schedule(dynamic)
    for (std::uint64_t s = seed; s < seed + count; ++s) {
        AttackReport report = persons ? attack_persons(s, 0, arithmetic) : attack_one_step(s, 0, arithmetic);
        if (!one_step && !persons) {
            report.add(attack_enclosure(s, 0, arithmetic));
            report.add(attack_poison(s, 0, arithmetic));
            report.add(attack_smoothness(s, arithmetic));
            report.add(attack_persons(s, 0, arithmetic));
        }
#pragma omp critical
        {
            for (const std::string& violation : report.violations)
                std::printf("VIOLATION %s\n", violation.c_str());
            total.add(report);
        }
    }
    std::printf("largest displacement reached / room the box leaves that way\n");
    for (const auto& [name, value] : total.tightness) std::printf("  %-36s %.3f\n", name.c_str(), value);
    if (total.clipped_after > 0)
        std::printf("of persons whose rows are clipped together: %lld\n",
                    static_cast<long long>(total.clipped_after));
    std::printf("seeds %llu..%llu: %lld attacks, %zu violations\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(seed + count - 1), static_cast<long long>(total.attacks),
                total.violations.size());
    return total.violations.empty() ? 0 : 1;
}
