#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// Labels under privacy, drawn once a record: whatever is learnt from them is private of labels, and of
// nothing else (models/privacy/mathematics.md, drawn labels).

extern const char* const drawn_labels_mechanism;  ///< of their payment
extern const char* const label_relation;          ///< of the accounts that pay for them, and for nothing else

/// What a record's label becomes: evidence for each class, in whole units. All of it is public.
struct LabelLaw {
    /// "response": K-ary randomised response, the evidence being 1 of one class; "laplace": of every class 0
    /// to 64, the label's own 64 more before noise.
    std::string form;
    std::size_t classes;
    Rational epsilon;  ///< what it costs

    static constexpr std::int64_t whole = 64;  ///< evidence of a label without noise, by "laplace"

    /// Error (usage): no such form, or an epsilon that nothing is drawn at.
    static LabelLaw of(const std::string& form, std::size_t classes, double epsilon);
    std::int64_t scale() const;  ///< of the noise of "laplace"
    /// How much a unit of evidence for a class counts as a logit: its likelihood's logarithm.
    double unit() const;
    std::string to_text() const;  ///< JSON, for the file of what was drawn
    /// unit() of such a text. Error (input, at `path`): damaged.
    static double unit_of(const std::string& text, const std::string& path);
};

/// [labels, classes]: the evidence, by fresh bits. Each label is below law.classes.
std::vector<std::uint8_t> draw_labels(std::span<const std::int32_t> labels, const LabelLaw& law,
                                      RandomBits& bits);
/// The class of most evidence; of several, which are equally likely, they take turns by the record's own id:
/// by its place among others a record would move theirs.
std::int32_t likeliest_label(std::span<const std::uint8_t> evidence, std::uint64_t id);
/// [ids], of evidence [ids, classes].
std::vector<std::int32_t> likeliest_labels(std::span<const std::uint8_t> evidence,
                                           std::span<const std::uint64_t> ids);

/// Without token and guarantee.
Payment payment_for(const LabelLaw& law);

/// What a ledger keeps of the draw: the dataset that was made of it, and all evidence.
struct DrawnLabels {
    std::string dataset;                 ///< digest of its records
    std::vector<std::uint8_t> evidence;  ///< [records by ascending ids, classes]

    std::string to_text() const;
    /// Error (input, at `path`): damaged.
    static DrawnLabels of(const std::string& text, const std::string& path);
};

}  // namespace holdfast
