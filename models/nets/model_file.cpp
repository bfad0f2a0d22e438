#include "models/nets/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/layers.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr const char* format_name = "holdfast model";
constexpr std::uint64_t newest_version = 6;
constexpr std::uint64_t most_text = 1 << 24;  // bytes of a description
constexpr int most_depth = 8;                 // of its JSON
constexpr std::uint64_t most_classes = 1000;  // as network.classes

constexpr const char *own_layers = "layer_", *prefix_layers = "prefix_", *frequencies_name = "frequencies";

std::string group_of(const char* whose, std::size_t layer) {
    return whose + std::to_string(layer) + "/";
}

json json_of(const InputTransform& input) {
    return {{"shift", input.shift}, {"scale", input.scale}, {"range", {input.range.low, input.range.high}}};
}

/// What version 2 knows: bins with the same edges for every column, and no limit of the norm.
bool fits_version_2(const FeatureMap& features) {
    const auto* bins = std::get_if<FeatureBins>(&features.derived());
    return bins != nullptr && !bins->trend && features.norm_limit() == 0 &&
           std::all_of(bins->edges.begin(), bins->edges.end(),
                       [&](const auto& column) { return column == bins->edges.front(); });
}

/// What versions before 4 know: weights and biases that meet the input once.
bool is_plain(const Layer& layer) {
    return !layer.convolution && !layer.pooling && layer.bias;
}
bool all_plain(const std::vector<Layer>& layers) {
    return std::all_of(layers.begin(), layers.end(), is_plain);
}

/// The oldest version that says all: a model that an older program wrote comes to the same bytes again.
int version_of(const Model& model) {
    const FeatureMap features = model.feature_map();
    if (std::holds_alternative<Scattering>(features.derived())) return 6;
    if (model.schema) return 5;
    const auto* prefix = std::get_if<FrozenPrefix>(&features.derived());
    if (!all_plain(model.network.layers()) || (prefix != nullptr && !all_plain(prefix->layers()))) return 4;
    return features.is_identity() ? 1 : fits_version_2(features) ? 2 : 3;
}

json json_of(const Image& image, const Window& window) {
    return {{"image", {image.channels, image.height, image.width}},
            {"window", {window.height, window.width}},
            {"stride", window.stride},
            {"padding", window.padding},
            {"dilation", window.dilation}};
}

json json_of(const Layer& layer) {
    if (is_plain(layer)) return {layer.in, layer.out};
    json object = {{"in", layer.in}, {"out", layer.out}, {"bias", layer.bias}};
    if (const auto& convolution = layer.convolution) {
        object["convolution"] = json_of(convolution->input, convolution->window);
        object["convolution"]["groups"] = convolution->groups;
    }
    if (const auto& pooling = layer.pooling) {
        object["pooling"] = json_of(pooling->input, pooling->window);
        object["pooling"]["kind"] = pooling->kind == Pooling::Kind::average ? "average" : "greatest";
    }
    return object;
}

json json_of(const std::vector<Layer>& layers) {
    json list = json::array();
    for (const Layer& layer : layers) list.push_back(json_of(layer));
    return list;
}

/// What a version says of what is derived. Numbers by the thousand are datasets of their own.
json json_of(std::monostate, int) {
    return {{"map", "none"}};
}
json json_of(const FeatureBins& bins, int version) {
    json object = {{"hot", bins.hot}, {"pairs", bins.pairs}};
    if (version > 2) object["map"] = "bins";
    object["edges"] = version > 2 ? json(bins.edges) : json(bins.edges.front());
    if (bins.trend) object["trend"] = true;
    return object;
}
json json_of(const FourierFeatures& fourier, int) {
    return {{"map", "fourier"}, {"frequencies", fourier.outputs() / 2}};
}
json json_of(const FrozenPrefix& prefix, int) {
    return {{"map", "prefix"},
            {"prefix", {{"input", json_of(prefix.input())}, {"layers", json_of(prefix.layers())}}}};
}

json json_of(const Scattering& scattering, int) {
    const Image& image = scattering.image();
    return {{"map", "scattering"},
            {"image", {image.channels, image.height, image.width}},
            {"weights", scattering.weights()}};
}

json json_of(const FeatureMap& features, int version) {
    json object =
        std::visit([&](const auto& derived) { return json_of(derived, version); }, features.derived());
    object["columns"] = features.columns();
    object["input"] = json_of(features.input());
    object["keep"] = features.keep();
    if (version > 2) object["norm_limit"] = features.norm_limit();
    return object;
}

/// The numbers by the thousand that what is derived rests on.
std::vector<std::int64_t> units_of(const FeatureMap& features) {
    if (const auto* fourier = std::get_if<FourierFeatures>(&features.derived()))
        return fourier->frequencies();
    if (const auto* prefix = std::get_if<FrozenPrefix>(&features.derived())) return prefix->units();
    return {};
}

json description_of(const Model& model) {
    const FeatureMap features = model.feature_map();
    json description = {{"format", format_name},
                        {"version", version_of(model)},
                        {"layers", json_of(model.network.layers())},
                        {"classes", model.network.classes()},
                        {"loss", info_of(model.network.loss()).name},
                        {"input", json_of(model.network.transform())},
                        {"precision", name_of(model.precision)},
                        {"kind", model.kind},
                        {"program", model.program},
                        {"program_version", model.version},
                        {"guarantee", model.guarantee},
                        {"cost", model.cost}};
    if (!features.is_identity()) description["features"] = json_of(features, version_of(model));
    if (model.schema) description["schema"] = to_json(*model.schema);
    return description;
}

std::string digest_of(const std::string& description, const Model& model) {
    StreamDigest digest;
    digest.add(std::as_bytes(std::span(description)));
    digest.add_values(std::span<const std::int64_t>(units_of(model.feature_map())));
    digest.add_values(std::span<const std::int64_t>(model.parameters));
    return digest.hex();
}

// Writing ------------------------------------------------------------------------------------------------

template <typename T>
void write_values(hdf5::File& file, const std::string& name, const hdf5::Shape& shape, const T* values) {
    hdf5::Dataset dataset = file.create_dataset(name, hdf5::TypeOf<T>::value, shape);
    dataset.write(hdf5::Shape(shape.size(), 0), shape, values);
    dataset.close();
}

void write_text(hdf5::File& file, const std::string& name, const std::string& text) {
    write_values(file, name, {text.size()}, reinterpret_cast<const std::uint8_t*>(text.data()));
}

/// A layer's parameters as the doubles nearest to them.
struct Rounded {
    Rounded(const LayerShape& layer, const std::int64_t* units) {
        for (std::size_t row = 0; row < layer.out; ++row, units += layer.in + 1) {
            std::transform(units, units + layer.in, std::back_inserter(weight), parameter_value<double>);
            bias.push_back(parameter_value(units[layer.in]));
        }
    }
    std::vector<double> weight, bias;  // [out, in], [out]
};

void write_layer(hdf5::File& file, const std::string& group, const LayerShape& layer,
                 const std::int64_t* units) {
    const Rounded rounded(layer, units);
    write_values(file, group + "units", {layer.out, layer.in + 1}, units);
    write_values(file, group + "weight", {layer.out, layer.in}, rounded.weight.data());
    write_values(file, group + "bias", {layer.out}, rounded.bias.data());
}

void write_layers(hdf5::File& file, const char* whose, const std::vector<Layer>& layers,
                  const std::int64_t* units) {
    for (std::size_t l = 0; l < layers.size(); units += layers[l++].parameters())
        write_layer(file, group_of(whose, l), layers[l], units);
}

void write_derived(hdf5::File& file, const FeatureMap& features) {
    if (const auto* fourier = std::get_if<FourierFeatures>(&features.derived()))
        write_values(file, frequencies_name, {fourier->outputs() / 2, fourier->columns()},
                     fourier->frequencies().data());
    if (const auto* prefix = std::get_if<FrozenPrefix>(&features.derived()))
        write_layers(file, prefix_layers, prefix->layers(), prefix->units().data());
}

bool same_bytes(const std::string& one, const std::string& other) {
    std::ifstream first(one, std::ios::binary), second(other, std::ios::binary);
    using Bytes = std::istreambuf_iterator<char>;
    return first && second && std::equal(Bytes(first), Bytes(), Bytes(second), Bytes());
}

// Reading ------------------------------------------------------------------------------------------------

Error no_model(const std::string& path, const std::string& what) {
    return Error(
        ExitCode::input, "is no model: " + what,
        "holdfast publish writes models, the Python package holdfast (tools/python) makes them of others",
        path);
}

Error damaged(const std::string& path, const std::string& what) {
    return Error(ExitCode::input, what, "the file was changed or damaged: fetch or publish it again", path);
}

std::string read_text(const hdf5::File& file, const std::string& name) {
    const hdf5::Dataset dataset = file.dataset(name);
    if (dataset.type() != hdf5::Type::uint8 || dataset.shape().size() != 1 || dataset.size() > most_text)
        throw damaged(file.path(), "'" + name + "' is no text");
    const std::vector<std::uint8_t> bytes = dataset.read_all<std::uint8_t>();
    return {bytes.begin(), bytes.end()};
}

json description_in(const std::string& path, const std::string& text) {
    bool deep = false;  // to copy or print a value takes stack for each level
    const auto shallow = [&](int depth, json::parse_event_t, const json&) {
        deep = deep || depth > most_depth;
        return !deep;
    };
    json object = json::parse(text, shallow, false);
    if (deep || !object.is_object()) throw damaged(path, "'description' is no JSON object of a model");
    return object;
}

/// A text of one line, which may go to a screen as it is.
std::string line(const JsonFields& fields, const char* name, const json& value) {
    const std::string text = value.is_string() ? value.get<std::string>() : "\n";
    const bool control =
        std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
    if (control) fields.wrong(name, "a text without control characters", value);
    return text;
}
std::string line(const JsonFields& fields, const char* name) {
    return line(fields, name, *fields.find(name, true));
}

double finite(const JsonFields& fields, const char* name) {
    const double value = fields.number(name);
    if (!std::isfinite(value)) fields.wrong(name, "a finite number", value);
    return value;
}

InputTransform transform_in(const json& object, const std::string& prefix = "input.") {
    const JsonFields fields(object, prefix, true);
    const json range = fields.list("range");
    if (range.size() != 2 || !range[0].is_number() || !range[1].is_number())
        fields.wrong("range", "[low, high]", range);
    const InputTransform input{
        finite(fields, "shift"), finite(fields, "scale"), {range[0].get<double>(), range[1].get<double>()}};
    if (!(input.scale > 0)) fields.wrong("scale", "positive", object["scale"]);
    if (!std::isfinite(input.range.low) || !std::isfinite(input.range.high) ||
        !(input.range.low < input.range.high))
        fields.wrong("range", "[low, high], low below high", range);
    return input;
}

Loss loss_in(const JsonFields& fields) {
    const std::string name = fields.text("loss");
    std::string known;
    for (const LossInfo& info : losses()) {
        if (info.name == name) return info.loss;
        known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    fields.wrong("loss", "one of " + known, name);
}

bool flag(const JsonFields& fields, const char* name) {
    const json* value = fields.find(name, true);
    if (!value->is_boolean()) fields.wrong(name, "true or false", *value);
    return value->get<bool>();
}

std::vector<std::uint64_t> sizes_in(const JsonFields& fields, const char* name, std::size_t count) {
    const json list = fields.list(name);
    std::vector<std::uint64_t> sizes;
    for (const json& size : list) sizes.push_back(fields.whole(size, name));
    if (sizes.size() != count) fields.wrong(name, "a list of " + std::to_string(count) + " sizes", list);
    return sizes;
}

/// Of any numbers: problem_of(layer) says which make sense.
std::pair<Image, Window> window_in(const JsonFields& fields) {
    const std::vector<std::uint64_t> image = sizes_in(fields, "image", 3),
                                     window = sizes_in(fields, "window", 2);
    return {
        {image[0], image[1], image[2]},
        {window[0], window[1], fields.count("stride"), fields.count("padding"), fields.count("dilation")}};
}

Pooling::Kind pooling_kind_in(const JsonFields& fields) {
    const std::string kind = fields.text("kind");
    if (kind != "average" && kind != "greatest") fields.wrong("kind", "average or greatest", kind);
    return kind == "average" ? Pooling::Kind::average : Pooling::Kind::greatest;
}

/// [in, out], or of version 4 an object.
Layer layer_in(const JsonFields& fields, const json& entry) {
    Layer layer{};
    if (entry.is_array() && entry.size() == 2) {
        layer.in = fields.whole(entry[0], "layers");
        layer.out = fields.whole(entry[1], "layers");
        return layer;
    }
    if (!entry.is_object()) fields.wrong("layers", "a list of [in, out] or of objects", entry);
    const JsonFields own(entry, "layers.", true);
    layer.in = own.count("in");
    layer.out = own.count("out");
    layer.bias = flag(own, "bias");
    if (entry.contains("convolution")) {
        const json object = own.object("convolution");
        const JsonFields numbers(object, "layers.convolution.", true);
        const auto [image, window] = window_in(numbers);
        layer.convolution = {image, window, numbers.count("groups")};
    }
    if (entry.contains("pooling")) {
        const json object = own.object("pooling");
        const JsonFields numbers(object, "layers.pooling.", true);
        const auto [image, window] = window_in(numbers);
        layer.pooling = {pooling_kind_in(numbers), image, window};
    }
    return layer;
}

/// Layers that fit each other and a file of so many values.
std::vector<Layer> layers_in(const JsonFields& fields, std::uint64_t most_values) {
    const json list = fields.list("layers");
    std::vector<Layer> layers;
    for (const json& entry : list) {
        const Layer layer = layer_in(fields, entry);
        if (layer.in == 0 || layer.out == 0)
            fields.wrong("layers", "of positive widths, each taking what the one before gives", list);
        if (layer.in >= most_values || layer.out > most_values / (layer.in + 1))
            fields.wrong("layers", "no larger than the file", entry);
        if (const std::string problem = problem_of(layer); !problem.empty())
            throw "field \"layers\" has a layer of " + problem;
        if (!layers.empty() && layer.input_rows() != layers.back().output_rows())
            fields.wrong("layers", "of positive widths, each taking what the one before gives", list);
        layers.push_back(layer);
    }
    if (layers.empty()) fields.wrong("layers", "a list of [in, out]", list);
    return layers;
}

Network network_in(const JsonFields& fields, std::uint64_t most_values) {
    std::vector<Layer> layers = layers_in(fields, most_values);
    const Loss loss = loss_in(fields);
    const std::uint64_t classes = fields.count("classes");
    const bool one_logit = info_of(loss).one_logit;
    const bool numbers = info_of(loss).of_numbers;
    if (numbers != (classes == 1) || classes == 0 || classes > most_classes ||
        (one_logit && !numbers && classes != 2))
        fields.wrong("classes",
                     numbers     ? "1, with this loss"
                     : one_logit ? "2, with this loss"
                                 : "from 2 to 1000",
                     classes);
    if (layers.back().out != logits_of(classes, loss) || !layers.back().is_dense())
        fields.wrong("layers", "with as many outputs as the loss has logits, of a dense layer",
                     fields.list("layers"));
    return {std::move(layers), classes, loss, transform_in(fields.object("input"))};
}

std::vector<double> numbers_in(const JsonFields& fields, const char* name, const json& list) {
    std::vector<double> numbers;
    if (!list.is_array()) fields.wrong(name, "a list of lists, one a column", list);
    for (const json& entry : list) {
        if (!entry.is_number()) fields.wrong(name, "a list of numbers", entry);
        numbers.push_back(entry.get<double>());
    }
    return numbers;
}

/// `inputs`: of the network, which are as many as there is anything of in the file.
FeatureBins bins_in(const JsonFields& fields, std::uint64_t columns, std::uint64_t inputs,
                    bool edges_of_each) {
    FeatureBins bins{{}, finite(fields, "hot")};
    const json edges = fields.list("edges");
    if (edges_of_each) {
        for (const json& column : edges) bins.edges.push_back(numbers_in(fields, "edges", column));
    } else {
        const std::vector<double> shared = numbers_in(fields, "edges", edges);
        if (const std::string problem = FeatureBins{{shared}, bins.hot}.problem(); !problem.empty())
            throw "the features have " + problem;
        if (shared.size() + 1 > inputs / columns)  // before so many copies are made
            fields.wrong("columns", "as many as, with their bins, the network has inputs", columns);
        bins.edges.assign(columns, shared);
    }
    for (const json& pair : fields.list("pairs")) {
        if (!pair.is_array() || pair.size() != 2) fields.wrong("pairs", "a list of [column, column]", pair);
        bins.pairs.push_back({fields.whole(pair[0], "pairs"), fields.whole(pair[1], "pairs")});
    }
    return bins;
}

/// All of a dataset that must have this shape.
template <typename T>
std::vector<T> values_in(const hdf5::File& file, const std::string& name, const hdf5::Shape& shape) {
    const hdf5::Dataset dataset = file.dataset(name);
    if (dataset.type() != hdf5::TypeOf<T>::value || dataset.shape() != shape)
        throw damaged(file.path(), "'" + name + "' has another type or shape than the description says");
    return dataset.read_all<T>();
}

void read_layer(const hdf5::File& file, const std::string& group, const LayerShape& layer,
                std::vector<std::int64_t>& parameters) {
    const auto units = values_in<std::int64_t>(file, group + "units", {layer.out, layer.in + 1});
    for (const std::int64_t value : units) {
        if (value < -parameter_limit_units || value > parameter_limit_units)
            throw damaged(file.path(), "'" + group + "units' holds a parameter beyond +-1024");
    }
    const Rounded rounded(layer, units.data());
    if (values_in<double>(file, group + "weight", {layer.out, layer.in}) != rounded.weight ||
        values_in<double>(file, group + "bias", {layer.out}) != rounded.bias)
        throw damaged(file.path(), "'" + group + "weight' or 'bias' is not what 'units' says");
    parameters.insert(parameters.end(), units.begin(), units.end());
}

std::vector<std::int64_t> read_layers(const hdf5::File& file, const char* whose,
                                      const std::vector<Layer>& layers) {
    std::vector<std::int64_t> parameters;
    for (std::size_t l = 0; l < layers.size(); ++l)
        read_layer(file, group_of(whose, l), layers[l], parameters);
    return parameters;
}

FourierFeatures fourier_in(const JsonFields& fields, std::uint64_t columns, const hdf5::File& file) {
    const std::uint64_t count = fields.count("frequencies");
    if (count == 0 || count > FeatureMap::most_outputs / 2)
        fields.wrong("frequencies", "from 1 to " + std::to_string(FeatureMap::most_outputs / 2), count);
    std::vector<std::int64_t> units = values_in<std::int64_t>(file, frequencies_name, {count, columns});
    if (const std::string problem = FourierFeatures::problem(columns, units); !problem.empty())
        throw "the features have " + problem;
    return {columns, std::move(units)};
}

FrozenPrefix prefix_in(const JsonFields& features, const hdf5::File& file, std::uint64_t most_values) {
    const json object = features.object("prefix");
    const JsonFields fields(object, "features.prefix.", true);
    std::vector<Layer> layers = layers_in(fields, most_values);
    std::vector<std::int64_t> units = read_layers(file, prefix_layers, layers);
    return {transform_in(fields.object("input"), "features.prefix.input."), std::move(layers),
            std::move(units)};
}

/// input: of the map.
Scattering scattering_in(const JsonFields& fields, const InputTransform& input) {
    const std::vector<std::uint64_t> sides = sizes_in(fields, "image", 3);
    const Image image{sides[0], sides[1], sides[2]};
    const json list = fields.list("weights");
    const std::vector<double> numbers = numbers_in(fields, "weights", list);
    Scattering::Weights weights{};
    if (numbers.size() != weights.size()) fields.wrong("weights", "a list of four numbers", list);
    std::copy(numbers.begin(), numbers.end(), weights.begin());
    if (const std::string problem = Scattering::problem(image, input.range, weights); !problem.empty())
        throw "the features have " + problem;
    return {image, input.range, weights};
}

DerivedFeatures derived_in(const JsonFields& fields, std::uint64_t version, std::uint64_t columns,
                           std::uint64_t inputs, const hdf5::File& file, std::uint64_t most_values) {
    if (version == 2) return bins_in(fields, columns, inputs, false);
    const std::string map = fields.text("map");
    if (map == "none") return {};
    if (map == "bins") return bins_in(fields, columns, inputs, true);
    if (map == "fourier") return fourier_in(fields, columns, file);
    if (map == "prefix") return prefix_in(fields, file, most_values);
    if (map == "scattering" && version > 5)
        return scattering_in(fields, transform_in(fields.object("input"), "features.input."));
    fields.wrong("map", "none, bins, fourier, prefix or scattering", map);
}

/// The map of a model of version 2 or more, whose entries the network takes.
FeatureMap features_in(const JsonFields& description, const Network& network, const hdf5::File& file,
                       std::uint64_t most_values) {
    const std::uint64_t version = description.count("version");
    const json object = description.object("features");
    const JsonFields fields(object, "features.", true);
    const bool keep = flag(fields, "keep");
    const std::uint64_t columns = fields.count("columns");
    if (columns == 0 || columns > FeatureMap::most_outputs)
        fields.wrong("columns", "from 1 to " + std::to_string(FeatureMap::most_outputs), columns);
    const double norm_limit = version > 2 ? finite(fields, "norm_limit") : 0;
    DerivedFeatures derived = derived_in(fields, version, columns, network.inputs(), file, most_values);
    if (auto* bins = std::get_if<FeatureBins>(&derived); bins != nullptr && object.contains("trend"))
        bins->trend = flag(fields, "trend");
    if (const std::string problem = FeatureMap::problem(columns, derived, keep, norm_limit); !problem.empty())
        throw "the features have " + problem;
    const FeatureMap map(columns, transform_in(fields.object("input"), "features.input."), derived, keep,
                         norm_limit);
    if (map.outputs() != network.inputs())
        fields.wrong("columns", "as many as, with what the map makes of them, the network has inputs",
                     columns);
    return map;
}

Precision precision_in(const JsonFields& fields) {
    const std::string name = fields.text("precision");
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
        if (name == name_of(precision)) return precision;
    }
    fields.wrong("precision", "double or single", name);
}

/// As Guarantee::to_json() words it, so that Guarantee::text_of() can say it.
json guarantee_in(const JsonFields& description) {
    const json object = description.object("guarantee");
    const JsonFields fields(object, "guarantee.", true);
    json guarantee = {{"conditions", json::array()}};
    for (const char* name : {"status", "statement", "relation"}) guarantee[name] = line(fields, name);
    if (object.contains("gap")) guarantee["gap"] = line(fields, "gap");
    for (const json& condition : fields.list("conditions"))
        guarantee["conditions"].push_back(line(fields, "conditions", condition));
    return guarantee;
}

json cost_in(const JsonFields& description) {
    if (description.find("cost", true)->is_null()) return nullptr;
    const json object = description.object("cost");
    const JsonFields fields(object, "cost.", true);
    for (const char* name : {"epsilon", "delta"}) {
        if (finite(fields, name) < 0) fields.wrong(name, "no less than 0", object[name]);
    }
    return {{"epsilon", object["epsilon"]},
            {"delta", object["delta"]},
            {"mechanism", line(fields, "mechanism")},
            {"parameters", fields.object("parameters")}};
}

/// One whose columns make the features that the network's map takes, or that withholds what they are.
Schema schema_in(const JsonFields& description, const std::string& path, std::size_t features) {
    const Schema schema = schema_from_json(description.object("schema"), path);
    if (!schema.withheld && schema.record_features() != features)
        description.wrong("schema", "of columns that make " + std::to_string(features) + " features",
                          schema.record_features());
    return schema;
}

Model model_in(const json& description, const hdf5::File& file, std::uint64_t most_values) {
    const JsonFields fields(description, "", true);
    Model model{network_in(fields, most_values),
                precision_in(fields),
                {},
                line(fields, "kind"),
                line(fields, "program"),
                line(fields, "program_version"),
                guarantee_in(fields),
                cost_in(fields)};
    const std::uint64_t version = fields.count("version");
    if (version > 1 && (version < 4 || description.contains("features")))
        model.features = features_in(fields, model.network, file, most_values);
    if (version == 5 || (version > 5 && description.contains("schema")))
        model.schema = schema_in(fields, file.path(), model.feature_map().columns());
    model.parameters = read_layers(file, own_layers, model.network.layers());
    for (const std::size_t entry : model.network.pinned()) {
        if (model.parameters[entry] != 0) throw damaged(file.path(), "a layer without bias has one");
    }
    return model;
}

void check_version(const std::string& path, const JsonFields& fields) {
    if (fields.text("format") != format_name) throw no_model(path, "its format is another");
    const std::uint64_t version = fields.count("version");
    if (version == 0) fields.wrong("version", "1 or more", version);
    if (version > newest_version)
        throw Error(ExitCode::input,
                    "a model of version " + std::to_string(version) + ", newer than this program reads (" +
                        std::to_string(newest_version) + ")",
                    "use a newer program", path);
}

}  // namespace

std::string write_model(const std::string& path, const Model& model,
                        const std::function<void(const std::string& digest)>& before) {
    ensure(model.parameters.size() == model.network.parameters(), "a model has its network's parameters");
    const std::string description = description_of(model).dump(), digest = digest_of(description, model);
    AtomicPath guard(path, public_mode);
    hdf5::File file = hdf5::File::create(guard.temporary(), path);
    write_text(file, "description", description);
    write_derived(file, model.feature_map());
    write_layers(file, own_layers, model.network.layers(), model.parameters.data());
    write_text(file, "digest", digest);
    file.close();
    add_seal(guard.temporary(), path);
    const auto taken = [&] {
        return Error(ExitCode::output, "another file is there, and is kept", "name a file that is not there",
                     path);
    };
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !same_bytes(path, guard.temporary())) throw taken();
    if (before) before(digest);
    if (!guard.commit_unless_there() && !same_bytes(path, guard.temporary())) throw taken();
    return digest;
}

StoredModel read_model(const std::string& path) {
    const hdf5::File file = hdf5::File::open_sealed(path);
    if (!file.has("description")) throw no_model(path, "it has no description");
    const std::string text = read_text(file, "description");
    const json description = description_in(path, text);
    std::error_code gone;
    const std::uintmax_t bytes = std::filesystem::file_size(path, gone);
    if (gone) throw damaged(path, gone.message());
    try {
        check_version(path, JsonFields(description, "", true));
        StoredModel stored{model_in(description, file, bytes / sizeof(double)), read_text(file, "digest")};
        if (stored.digest != digest_of(text, stored.model)) throw damaged(path, "its digest is another");
        return stored;
    } catch (const std::string& problem) {
        throw damaged(path, problem);
    }
}

}  // namespace holdfast
