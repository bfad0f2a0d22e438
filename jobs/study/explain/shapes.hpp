#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dist/data/schema.hpp"
#include "models/nets/model_file.hpp"

namespace holdfast {

/// What one column of a table adds to a model's outputs, beside its mean over what is listed here.
struct Shape {
    std::string name, unit = {};
    std::vector<double> at = {};                 ///< of a number: where, in its own units, ascending
    std::vector<std::string> values = {};        ///< of a category: which
    std::vector<std::vector<double>> adds = {};  ///< [outputs, places]

    bool is_number() const { return values.empty(); }
    std::size_t places() const { return is_number() ? at.size() : values.size(); }
    double span() const;  ///< the greatest difference that it makes to an output
};

struct Shapes {
    std::vector<std::string> outputs;  ///< "log-odds of bad", of several classes one each, or the target
    std::vector<Shape> columns;        ///< the greatest span first
    /// Where a row is longer than the model's norm limit all of them count less, by one factor.
    bool limited;
    bool unbounded;  ///< no range is stated: numbers are shown from 0 to 1, or about the edges of their bins
};

/// Of a model that adds up what its columns say: no hidden layer, features as they are or in bins. A number
/// is asked at both ends of every stretch over which it counts alike, a category at every value, the other
/// columns standing in the middle; what comes out is the program's own answer, but for a limit of the rows'
/// norm. schema: of the table; none: columns by number. Error (usage): another kind of model.
Shapes shapes_of(const Model& model, const std::optional<Schema>& schema);

}  // namespace holdfast
