#pragma once

#include <string>

#include "models/nets/model_file.hpp"

namespace holdfast {

/// What network.initial says in place of a model file: parameters 0, but a regression's answer in the middle
/// of its public range.
inline constexpr const char* middle_start = "middle";
inline bool names_model(const std::string& initial) {
    return !initial.empty() && initial != middle_start;
}

/// A model file that a setting names, made without the private records: this model, wherever the file lies.
struct PublicModel {
    std::string path;
    std::string digest;      ///< of the model that is meant; empty: whichever is there
    std::string digest_key;  ///< the setting that says it

    /// Errors (input): as read_model's; another model than is meant.
    StoredModel read() const;
    /// Into a file of the run. Errors (input), as read's: what lies there afterwards is the one that is
    /// meant; (output), as AtomicPath's.
    void copy_to(const std::string& copy) const;
};

}  // namespace holdfast
