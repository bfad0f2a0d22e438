// program_terms FOLDER: writes, as files for Coq, what this program draws from or computes, taken from its
// very libraries: tables of mechanisms and sessions, responses of the update rule, distances of ensembles.
// Each file asks the checkers beside it (*.v) to accept all of that, and to refuse it where one number is
// changed by one unit.

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <random>

#include "kernels/reference/operations.hpp"
#include "models/privacy/aggregate.hpp"
#include "models/privacy/mechanisms/class_weights.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/session/session_law.hpp"
#include "models/training/update_rule.hpp"
#include "tests/support/effort.hpp"

namespace holdfast {
namespace {

/// [a; b; …]
template <typename Values, typename Text>
std::string coq_list(const Values& values, const Text& text) {
    std::string list = "[";
    for (const auto& value : values) list += (list.size() == 1 ? "" : "; ") + text(value);
    return list + "]";
}
/// In hexadecimal digits, which Coq reads in half the time.
std::string integer(const Integer& value) {
    const std::string digits = "0x" + Integer(abs(value)).get_str(16);
    return value < 0 ? "(-" + digits + ")" : digits;
}
std::string number(std::int64_t value) {
    return std::to_string(value);
}
std::string integers(const std::vector<Integer>& values) {
    return coq_list(values, integer);
}
/// Both parts of a fraction, as arguments.
std::string parts(const Rational& value) {
    return integer(value.get_num()) + " " + integer(value.get_den());
}

/// Proves that a boolean is true: the kernel computes it, once.
constexpr const char* computed = "Proof. vm_cast_no_check (eq_refl true). Qed.\n";

/// A number of the program as a real number of Coq's.
std::string real(const Rational& value) {
    return "IZR " + integer(value.get_num()) + " / IZR " + integer(value.get_den());
}
/// lower <= e^exponent, of real numbers.
void say_bound(std::ostream& out, const std::string& name, const std::string& lower,
               const Rational& exponent) {
    out << "Lemma bound_" << name << " : (" << lower << " <= exp (" << real(exponent)
        << "))%R.\nProof. interval with (i_prec 420). Qed.\n";
}
/// That a number is not negative.
std::string not_negative(const Rational& value) {
    return "(nonnegative " + parts(value) + " eq_refl)";
}

struct TableCase {
    const char* mechanism;
    double epsilon, delta;
    int classes;
    std::int64_t cap;
};

const TableCase table_cases[] = {{"stable_rr", 1, 0, 2, 300},
                                 {"stable_rr", 0.1, 0, 10, 300},
                                 {"stable_rr", 0.1, 1e-6, 2, 300},
                                 {"stable_rr", 0.5, 1e-5, 10, 300},
                                 {"stable_rr", 1e-6, 0, 4096, 20},
                                 {"stable_rr", 20, 0, 3, 300},
                                 {"stable_gauss", 1, 1e-5, 2, 40},
                                 {"stable_gauss", 0.5, 1e-5, 10, 40},
                                 {"unanimous_rr", 1, 0, 3, 100},
                                 {"unanimous_rr", 1e-6, 0, 4096, 20},
                                 {"one_record_rr", 0.1, 0, 10, 1},
                                 {"cauchy", 1, 0, 2, 100},
                                 {"laplace_global", 0.5, 0, 2, 20},
                                 {"laplace_smooth", 1, 1e-6, 2, 100},
                                 {"ptr", 1, 1e-6, 2, 100},
                                 {"ptr", 0.1, 1e-5, 10, 300},
                                 {"class_exponential", 1, 0, 10, 200},
                                 {"permute_and_flip", 0.1, 0, 10, 200}};

/// The law of each distance, as the outcome that says all of it: another class, or for `ptr` the label.
std::vector<Integer> table_of(const Mechanism& mechanism) {
    std::vector<Integer> table;
    const MechanismParameters& parameters = mechanism.parameters();
    for (std::int64_t distance = 0; distance <= parameters.cap; ++distance) {
        Evidence evidence;
        evidence.classes = parameters.classes;
        evidence.distance = distance;
        evidence.cap = parameters.cap;
        const bool refuses = mechanism.info().may_refuse;
        const Rational entry = mechanism.exact_law(evidence)[refuses ? 0 : 1] * Rational(power_of_two(128));
        table.push_back(entry.get_num());
        if (entry.get_den() != 1) throw std::logic_error("a law that is no table over 2^128");
    }
    return table;
}

void write_table(std::ostream& out, const TableCase& c) {
    static int cases = 0;
    const std::string id = std::to_string(cases++), name = c.mechanism;
    MechanismParameters parameters;
    parameters.epsilon = c.epsilon;
    parameters.delta = c.delta;
    parameters.classes = c.classes;
    parameters.cap = c.cap;
    const Mechanism mechanism(name, parameters);
    out << "\n(* " << name << ", epsilon " << c.epsilon << ", delta " << c.delta << ", " << c.classes
        << " classes *)\n";
    const auto define = [&](const std::vector<Integer>& table) {
        out << "Definition table_" << id << " : list Z := " << integers(table) << ".\n";
    };
    const auto claim = [&](const std::string& what) { out << what << " = true.\n" << computed; };
    if (mechanism.info().needs_class_distances) {
        const Rational half = mechanism.epsilon() / 2, slack = 1 + Rational(1, power_of_two(100)),
                       ratio = exp_lower(half) / slack;
        std::vector<Integer> table;
        for (const Word128 weight : exponential_weights(half, c.cap + 1)) table.push_back(to_integer(weight));
        define(table);
        say_bound(out, id, real(ratio) + " * (1 + / 2 ^ 100)", half);
        claim("Lemma accepted_" + id + " : good_weights " + parts(ratio) + " table_" + id);
        claim("Lemma refused_" + id + " : tight (weight_pair " + parts(ratio) + ") (-1) table_" + id);
        out << "Definition private_" << id << " := accepted_weights_are_private " << c.classes
            << "%nat _ _ _ _ _ _ ltac:(lia) accepted_" << id << " bound_" << id
            << " (proj1 (proj2 slack)) (proj1 slack) (proj2 (proj2 slack)).\n";
        return;
    }
    const Rational growth = exp_lower(mechanism.epsilon());
    const bool joined = name == "unanimous_rr" || name == "one_record_rr",
               refuses = mechanism.info().may_refuse, least = joined || name == "stable_rr";
    const std::string terms = " " + integer(power_of_two(128)) + " (Z.of_nat " + std::to_string(c.classes) +
                              " - 1) " + parts(growth) + " " + parts(mechanism.delta()),
                      check = (refuses  ? "releases"
                               : joined ? "joined_flips"
                                        : "stable_flips") +
                              terms;
    define(table_of(mechanism));
    say_bound(out, id, real(growth), mechanism.epsilon());
    claim("Lemma accepted_" + id + " : " + check + " table_" + id);
    if (least)
        claim("Lemma refused_" + id + " : tight (flip_pair" + terms + ") (-1) table_" + id + " && negb (" +
              check + " (first_changed (-1) table_" + id + "))");
    if (refuses) claim("Lemma refused_" + id + " : negb (" + check + " (first_changed 1 table_" + id + "))");
    out << "Definition private_" << id << " := accepted_"
        << (refuses  ? "releases"
            : joined ? "joined_flips"
                     : "flips")
        << "_are_private " << c.classes << "%nat _ _ _ _ _ _ _ " << not_negative(mechanism.epsilon())
        << " accepted_" << id << " bound_" << id << ".\n";
}

void write_tables(std::ostream& out) {
    for (const TableCase& c : table_cases) write_table(out, c);
}

void write_sessions(std::ostream& out) {
    int id = 0;
    struct Case {
        Rational epsilon;
        const char* delta;
        int refusals;
    };
    for (const Case& c : {Case{1, "1e-6", 1}, Case{Rational(1, 2), "1e-5", 5}}) {
        const SessionTerms terms = session_terms(c.epsilon, parse_rational(c.delta, "delta"), c.refusals);
        const SessionLaw law(terms);
        const Rational scale(power_of_two(128)), rate = terms.epsilon_two / (2 * c.refusals);
        std::vector<Integer> thresholds, refusals;
        for (const Rational& p : law.threshold_law()) thresholds.push_back(Rational(p * scale).get_num());
        for (std::int64_t d = 0; d < 200; ++d)
            refusals.push_back(Rational(law.refusal_law(d, 0) * scale).get_num());
        const Rational growth = exp_lower(terms.epsilon_one), slow = exp_lower(rate);
        const std::string n = integer(power_of_two(128)), i = std::to_string(id++);
        out << "\n(* a session of epsilon " << c.epsilon << ", delta " << c.delta << ", " << c.refusals
            << " refusals *)\n"
            << "Definition thresholds_" << i << " : list Z := " << integers(thresholds) << ".\n"
            << "Definition refusals_" << i << " : list Z := " << integers(refusals) << ".\n";
        say_bound(out, "threshold_" + i, real(growth), terms.epsilon_one);
        say_bound(out, "refusal_" + i, real(slow), rate);
        const std::string first = "good_thresholds " + n + " " + parts(growth) + " " + parts(terms.delta),
                          second = "good_refusals " + n + " " + parts(slow);
        out << "Lemma accepted_" << i << " : " << first << " thresholds_" << i << " && " << second
            << " refusals_" << i << " = true.\n"
            << computed << "Lemma refused_" << i << " : tight (threshold_pair " << parts(growth)
            << ") 1 (removelast thresholds_" << i << ") && tight (refusal_pair " << parts(slow)
            << ") (-1) refusals_" << i << " = true.\n"
            << computed << "Definition private_" << i
            << " := accepted_session _ _ _ _ _ _ _ _ _ _ _ accepted_" << i << " bound_threshold_" << i
            << " bound_refusal_" << i << " " << not_negative(rate) << ".\n";
    }
}

void write_responses(std::ostream& out) {
    std::mt19937_64 random(1);
    const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
    out << "Definition cases : list (Z * list (factor * factor * bool) * Z) := [";
    for (int i = 0; i < 400; ++i) {
        EpochResponses<64> responses;
        const auto gamma = static_cast<std::int64_t>(random() >> (2 + random() % 40));
        out << (i > 0 ? ";\n" : "") << "(" << integer(Integer(gamma)) << ", [";
        const int steps = 1 + below(12), batches = 1 + below(4);
        for (int t = 0; t < steps; ++t) {
            const int shift = 62 + below(30), gradient_shift = 50 + below(50);
            const auto decay = static_cast<std::int64_t>(random() >> 2),
                       gradient = static_cast<std::int64_t>(random() >> 2);
            const bool first = t % batches == 0;
            responses.advance({decay, shift}, {gradient, gradient_shift}, gamma, first);
            out << (t > 0 ? "; " : "") << "((" << integer(Integer(decay)) << ", " << shift << "), ("
                << integer(Integer(gradient)) << ", " << gradient_shift << "), " << (first ? "true" : "false")
                << ")";
        }
        out << "], " << integer(Integer(responses.radius())) << ")";
    }
    out << "].\nLemma accepted : forallb (fun '(gamma, steps, radius) => let computed := radius_of gamma "
           "steps in\n"
           "  (computed =? radius) && negb (computed =? radius - 1)) cases = true.\n"
        << computed;
}

/// 400 ensembles at random, with a distance for every class or without, and what aggregate() says of them.
void write_ensembles(std::ostream& out, bool by_class) {
    std::mt19937_64 random(2);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const auto text = [&](const MemberAnswer& member) {
        return "(" + number(member.label) + ", " +
               (by_class ? "costs " + coq_list(member.class_distances, number) : number(member.distance)) +
               ")";
    };
    for (int i = 0; i < 400; ++i) {
        const int classes = 2 + static_cast<int>(below(4));
        std::vector<MemberAnswer> members(static_cast<std::size_t>(1 + below(9)));
        for (MemberAnswer& member : members) {
            member.label = static_cast<int>(below(classes));
            member.distance = below(7);
            for (int c = 0; by_class && c < classes; ++c)
                member.class_distances.push_back(c == member.label ? 0 : below(8));
        }
        const Evidence evidence = aggregate(members, classes, 7);
        out << (i > 0 ? ";\n" : "[") << "(" << classes << ", " << coq_list(members, text) << ", ("
            << evidence.label << ", " << evidence.distance << "))";
    }
    out << "].\n";
}
void write_ensembles(std::ostream& out) {
    out << "Definition cases : list (nat * list (nat * nat) * (nat * nat)) := ";
    write_ensembles(out, false);
    out << "Lemma accepted : forallb (fun '(classes, e, (label, distance)) => let found := overtaking "
           "classes e in\n"
           "  (winner classes (labels e) =? label) && (found - 1 =? distance) && negb (found - 1 =? distance "
           "+ 1)) "
           "cases = true.\n"
        << computed;
}
void write_ensembles_by_class(std::ostream& out) {
    out << "Definition costs (ds : list nat) (c : nat) : nat := nth c ds 0.\n"
           "Definition is (x : option nat) (n : nat) : bool := match x with Some m => m =? n | None => false "
           "end.\n"
           "Definition cases : list (nat * list (nat * (nat -> nat)) * (nat * nat)) := ";
    write_ensembles(out, true);
    out << "Lemma accepted : forallb (fun '(classes, e, (label, distance)) => let found := distance_by_class "
           "classes "
           "e in\n  is found distance && negb (is found (distance + 1))) cases = true.\n"
        << computed;
}

/// 100 units of a layer over boxes of doubles of every size, subnormal ones and zeros too, as bits.
void write_layers(std::ostream& out) {
    std::mt19937_64 random(3);
    const auto any = [&] {
        const auto fraction = static_cast<double>(random() >> 11);
        const int kinds = static_cast<int>(random() % 8), size = static_cast<int>(random() % 120);
        const double value = kinds == 0   ? 0.0
                             : kinds == 1 ? std::ldexp(fraction, -1074 - size % 60)
                             : kinds == 2 ? std::ldexp(1.0, size - 60)
                                          : std::ldexp(fraction, -53 - size % 20);
        return random() % 2 == 0 ? value : -value;
    };
    const auto bits = [](double value) { return integer(Integer(std::bit_cast<std::uint64_t>(value))); };
    const auto both = [&](double lower, double upper) {
        return "(" + bits(lower) + ", " + bits(upper) + ")";
    };
    out << "Definition cases : list (list ((Z * Z) * (Z * Z)) * (Z * Z) * (Z * Z)) := ";
    for (int i = 0; i < 100; ++i) {
        const std::size_t inputs = 1 + random() % 6;
        std::vector<double> lower, upper, z_lower, z_upper;
        for (std::size_t j = 0; j <= inputs; ++j) {
            const auto [least, greatest] = std::minmax({any(), any()});
            lower.push_back(least);
            upper.push_back(greatest);
            const auto [below, above] = std::minmax({std::abs(any()), std::abs(any())});
            z_lower.push_back(below);
            z_upper.push_back(above);
        }
        double a_lower = 0, a_upper = 0;
        reference::forward<double>({{inputs, 1}, lower.data(), upper.data()}, 1,
                                   {z_lower.data(), z_upper.data()}, {&a_lower, &a_upper});
        std::vector<std::string> terms;
        for (std::size_t j = 0; j < inputs; ++j)
            terms.push_back("(" + both(lower[j], upper[j]) + ", " + both(z_lower[j], z_upper[j]) + ")");
        out << (i > 0 ? ";\n" : "[") << "(" << coq_list(terms, [](const std::string& term) { return term; })
            << ", " << both(lower[inputs], upper[inputs]) << ", " << both(a_lower, a_upper) << ")";
    }
    out << "].\nDefinition same (x y : Z * Z) : bool := (fst x =? fst y) && (snd x =? snd y).\n"
           "Lemma accepted : forallb (fun '(terms, bias, ends) => let computed := ends_of terms bias in\n"
           "  same computed ends && negb (same computed (fst ends, snd ends + 1))) cases = true.\n"
        << computed;
}

/// A sum of what the loop makes of 1000 triples of doubles: fma_sum_of of layer_of_doubles.v.
std::uint64_t fma_sum(int kind, std::uint64_t seed) {
    const auto operand = [&](std::uint64_t s) {
        const std::uint64_t x = s ^ (s >> 29);
        if (kind == 0) return x;
        if (kind == 1) return (x & 0x83FFFFFFFFFFFFFF) | 0x1C00000000000000;
        return (x & (s >> 62 == 0 ? 0x83FFFF8000000000 : 0x83FFFFFFFFFFFFFF)) | 0x3C00000000000000;
    };
    const auto number_of = [](double value) -> std::uint64_t {
        if (std::isnan(value)) return 1;
        const bool negative = std::signbit(value);
        if (std::isinf(value)) return negative ? 3 : 2;
        if (value == 0) return negative ? 5 : 4;
        const int exponent = std::max(std::ilogb(value) - 52, -1074);
        const auto significand = static_cast<std::uint64_t>(std::ldexp(std::abs(value), -exponent));
        return significand + (static_cast<std::uint64_t>(exponent + 2000) << 53) + (negative ? 6 : 0);
    };
    std::uint64_t sum = 0;
    double a = 0, b = 0;
    for (int i = 0; i < 1000; ++i) {
        seed = 0x9E3779B5 * seed + 0x14057B7EF767814F;
        const double added = std::bit_cast<double>(kind == 1 ? seed & 0x801FFFFFFFFFFFFF : operand(seed));
        const double parameters[] = {a, added};
        double lower = 0, upper = 0;
        reference::forward<double>({{1, 1}, parameters, parameters}, 1, {&b, &b}, {&lower, &upper});
        sum = 5 * sum + number_of(lower);
        a = b;
        b = std::bit_cast<double>(operand(seed));
    }
    return sum;
}
/// Some of these sums, of seeds from `first` on: of 20 one is of numbers of every size, two of subnormal
/// ones.
void write_fma(std::ostream& out, std::uint64_t first) {
    out << "Definition cases : list (Z * Z * Z) := ";
    for (std::uint64_t seed = first; seed < first + cases_of(4); ++seed) {
        const int kind = seed % 20 == 0 ? 0 : seed % 10 == 1 ? 1 : 2;
        out << (seed > first ? ";\n" : "[") << "(" << kind << ", " << seed << ", "
            << integer(Integer(fma_sum(kind, seed))) << ")";
    }
    out << "].\nLemma accepted : forallb (fun '(kind, seed, sum) => fma_sum_of kind seed =? sum) cases = "
           "true.\n"
        << computed;
}

void write(const std::string& folder, const char* name, const char* imports, void (*content)(std::ostream&)) {
    std::ofstream out(folder + "/program_" + name + ".v");
    out << "(* Printed by tests/proofs/program_terms.cpp. *)\n" << imports << "\n";
    content(out);
    if (!out) throw std::runtime_error("cannot write to " + folder);
}

}  // namespace
}  // namespace holdfast

int main(int count, char** arguments) {
    using namespace holdfast;
    if (count != 2) return 2;
    const std::string folder = arguments[1];
    const char* integers =
        "From Coq Require Import Reals Lia ZArith List Bool.\nFrom Interval Require Import Tactic.\n"
        "From Holdfast Require Import integer_tables class_exponential session.\nImport ListNotations.\nOpen "
        "Scope Z_scope.";
    write(folder, "tables", integers, write_tables);
    write(folder, "sessions", integers, write_sessions);
    write(folder, "responses",
          "From Coq Require Import ZArith List Bool.\nFrom Holdfast Require Import executed_responses.\n"
          "Import ListNotations.\nOpen Scope Z_scope.",
          write_responses);
    write(folder, "ensembles",
          "From Coq Require Import List Arith Bool.\nFrom Holdfast Require Import ensemble_distance.\nImport "
          "ListNotations.",
          write_ensembles);
    const char* doubles =
        "From Coq Require Import ZArith List Bool.\nFrom Holdfast Require Import layer_of_doubles.\n"
        "Import ListNotations.\nOpen Scope Z_scope.";
    write(folder, "layers", doubles, write_layers);
    write(folder, "fma_0", doubles, [](std::ostream& out) { write_fma(out, 0); });
    write(folder, "fma_1", doubles, [](std::ostream& out) { write_fma(out, 20); });
    write(folder, "ensembles_by_class",
          "From Coq Require Import List Arith Bool.\nFrom Holdfast Require Import class_distances.\n"
          "Import ListNotations.",
          write_ensembles_by_class);
}
