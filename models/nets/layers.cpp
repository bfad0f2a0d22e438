#include "models/nets/layers.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_rows = 1 << 24;    // that a layer gives
constexpr std::size_t most_number = 1 << 16;  // of a window, and of its channels

const std::vector<std::string> known_words{"conv",    "average_pool", "max_pool", "dense",
                                           "dropout", "relu",         "flatten"};

std::string text_of(const Image& image) {
    return std::to_string(image.channels) + " x " + std::to_string(image.height) + " x " +
           std::to_string(image.width);
}

std::string problem_of(const Image& image, const Window& window) {
    for (const std::size_t number : {image.channels, image.height, image.width, window.height, window.width,
                                     window.stride, window.dilation}) {
        if (number == 0 || number > most_number)
            return std::to_string(number) + ", where a size is from 1 to " + std::to_string(most_number);
    }
    if (window.padding > most_number || image.rows() > most_rows)
        return "more rows than " + std::to_string(most_rows);
    const Image over = window.over(image, 1);
    if (over.rows() == 0)
        return "a window of " + std::to_string(window.height) + "x" + std::to_string(window.width) +
               (window.dilation > 1 ? " " + std::to_string(window.dilation) + " apart" : "") +
               ", larger than the image of " + text_of(image) + " with its padding";
    return "";
}

std::string problem_of(const Convolution& convolution, const LayerShape& shape) {
    const Image& image = convolution.input;
    const Window& window = convolution.window;
    if (const std::string problem = problem_of(image, window); !problem.empty()) return problem;
    if (window.padding > window.dilation * (std::max(window.height, window.width) - 1))
        return "a padding of " + std::to_string(window.padding) + ", beyond which no tap meets the image";
    if (convolution.groups == 0 || image.channels % convolution.groups != 0 ||
        shape.out % convolution.groups != 0)
        return std::to_string(convolution.groups) + " groups, which do not divide " +
               std::to_string(image.channels) + " channels into " + std::to_string(shape.out);
    if (shape.in != image.channels / convolution.groups * window.taps())
        return "weights of " + std::to_string(shape.in) + " inputs, where a window has others";
    return "";
}

std::string problem_of(const Pooling& pooling) {
    const Window& window = pooling.window;
    if (const std::string problem = problem_of(pooling.input, window); !problem.empty()) return problem;
    if (2 * window.padding > std::min(window.height, window.width))
        return "a padding of " + std::to_string(window.padding) + ", more than half its window";
    if (pooling.kind == Pooling::Kind::average && window.dilation != 1)
        return "a dilation, which an average has not";
    return "";
}

/// One text, taken apart word by word; what is wrong is thrown as message and remedy.
class Entry {
  public:
    Entry(std::size_t place, const std::string& text) : place_(place), text_(text) {
        std::istringstream stream(text);
        for (std::string word; stream >> word;) words_.push_back(word);
    }

    bool at_end() const { return next_ == words_.size(); }
    std::string word(const char* wanted) {
        if (at_end()) wrong(std::string("lacks ") + wanted, "write it as in " + form());
        return words_[next_++];
    }
    std::size_t number(const char* what, std::size_t least) { return number_in(word(what), what, least); }
    /// "4x4"
    std::pair<std::size_t, std::size_t> sides() {
        const std::string given = word("a window, as 3x3");
        const std::size_t cross = given.find('x');
        if (cross == std::string::npos)
            wrong("has no window in \"" + given + "\"", "write it as 3x3, height x width");
        return {number_in(given.substr(0, cross), "a window's height", 1),
                number_in(given.substr(cross + 1), "a window's width", 1)};
    }
    double part() {
        const std::string given = word("the part that a step leaves out");
        const auto value = number_of<double>(given);
        if (!value || !(*value >= 0 && *value < 1))
            wrong("leaves out the part " + given + ", which is not in [0, 1)", "write dropout 0.2");
        return *value;
    }
    /// The words behind, each of which `take` knows.
    template <typename Take>
    void rest(const std::vector<std::string>& known, Take take) {
        while (!at_end()) {
            const std::string found = words_[next_++];
            if (std::find(known.begin(), known.end(), found) == known.end())
                wrong("has an unknown word, \"" + found + "\"",
                      known.empty() ? "leave it out" : name_hint(found, known));
            take(found);
        }
    }
    void end() {
        rest({}, [](const std::string&) {});
    }
    [[noreturn]] void wrong(const std::string& message, const std::string& hint) const {
        throw Error(ExitCode::usage, "layer " + std::to_string(place_) + ", \"" + text_ + "\", " + message,
                    hint, "network.layers");
    }

  private:
    std::string form() const {
        const std::string word = words_.empty() ? "" : words_.front();
        return word == "dense"           ? "\"dense 100\""
               : word == "dropout"       ? "\"dropout 0.2\""
               : word.ends_with("_pool") ? "\"max_pool 2x2 stride 2\""
                                         : "\"conv 16 3x3 stride 2 padding 1\"";
    }
    std::size_t number_in(const std::string& given, const char* what, std::size_t least) const {
        const auto value = number_of<std::size_t>(given);
        const std::size_t most = std::string(what) == "a width" ? 1 << 20 : most_number;
        if (!value || *value < least || *value > most)
            wrong("has \"" + given + "\" where " + what + " stands",
                  "write a whole number in " + std::to_string(least) + ".." + std::to_string(most));
        return *value;
    }

    std::size_t place_;
    std::string text_;
    std::vector<std::string> words_;
    std::size_t next_ = 0;
};

class LayerList {
  public:
    LayerList(const std::optional<Image>& image, std::size_t inputs, bool bias)
        : image_(image), rows_(inputs), bias_(bias) {}

    void add(Entry entry) {
        const std::string what = entry.word("what it is: conv, dense, …");
        if (what == "conv") return convolution(entry);
        if (what == "dense") return dense(entry);
        if (what == "average_pool") return pooling(entry, Pooling::Kind::average);
        if (what == "max_pool") return pooling(entry, Pooling::Kind::greatest);
        if (what == "dropout") return dropout(entry);
        if (what != "relu" && what != "flatten") entry.wrong("is unknown", name_hint(what, known_words));
        if (what == "relu" && layers_.empty())
            entry.wrong("comes before any weights", "ReLU follows every conv and dense: leave it out here");
        entry.end();
        if (what == "flatten") image_.reset();
    }
    std::vector<Layer> layers() && { return std::move(layers_); }

  private:
    void convolution(Entry& entry) {
        const Image image = image_for(entry);
        Layer layer{};
        layer.out = entry.number("a number of channels", 1);
        Convolution convolution{image, window_of(entry)};
        layer.bias = bias_;
        words_of(entry, convolution.window, {"stride", "padding", "dilation", "groups", "no_bias"},
                 [&](const std::string& word) {
                     if (word == "groups") convolution.groups = entry.number("a number of groups", 1);
                     if (word == "no_bias") layer.bias = false;
                 });
        layer.in = image.channels / convolution.groups * convolution.window.taps();
        layer.convolution = convolution;
        push(entry, layer);
        image_ = layer.weighted();
    }
    void dense(Entry& entry) {
        Layer layer{};
        layer.in = rows_;
        layer.out = entry.number("a width", 1);
        layer.bias = bias_;
        entry.rest({"no_bias"}, [&](const std::string&) { layer.bias = false; });
        push(entry, layer);
        image_.reset();
    }
    void pooling(Entry& entry, Pooling::Kind kind) {
        const Image image = image_for(entry);
        if (layers_.empty())
            entry.wrong("comes before any weights",
                        "begin with a conv: one of 1x1 leaves the image its size");
        Layer& layer = layers_.back();
        if (layer.pooling || layer.dropout > 0)
            entry.wrong(layer.pooling ? "follows another pooling" : "follows a dropout",
                        layer.pooling ? "make one larger window of the two, or put a conv between"
                                      : "write the pooling first");
        Pooling pooling{kind, image, window_of(entry)};
        pooling.window.stride = 0;
        std::vector<std::string> known{"stride", "padding"};
        if (kind == Pooling::Kind::greatest) known.emplace_back("dilation");
        words_of(entry, pooling.window, known, [](const std::string&) {});
        if (pooling.window.stride == 0) {
            if (pooling.window.height != pooling.window.width)
                entry.wrong("has a window of two lengths, and a stride of one", "say its stride");
            pooling.window.stride = pooling.window.height;
        }
        layer.pooling = pooling;
        check(entry, layer);
        image_ = pooling.output();
        rows_ = layer.output_rows();
    }
    void dropout(Entry& entry) {
        if (layers_.empty())
            entry.wrong("comes before any weights", "put it behind a conv or a dense: features stay whole");
        if (layers_.back().dropout > 0) entry.wrong("follows another dropout", "make one of the two");
        layers_.back().dropout = entry.part();
        entry.end();
    }

    Image image_for(Entry& entry) const {
        if (image_) return *image_;
        if (layers_.empty())
            entry.wrong("wants an image",
                        "set network.image = [channels, height, width], and no flatten before");
        entry.wrong("wants an image, and a dense or a flatten has left none",
                    "put convolutions and their pooling before");
    }
    static Window window_of(Entry& entry) {
        const auto [height, width] = entry.sides();
        return {height, width};
    }
    template <typename Take>
    static void words_of(Entry& entry, Window& window, const std::vector<std::string>& known, Take take) {
        entry.rest(known, [&](const std::string& word) {
            if (word == "stride") window.stride = entry.number("a stride", 1);
            if (word == "padding") window.padding = entry.number("a padding", 0);
            if (word == "dilation") window.dilation = entry.number("a dilation", 1);
            take(word);
        });
    }
    static void check(const Entry& entry, const Layer& layer) {
        if (const std::string problem = problem_of(layer); !problem.empty())
            entry.wrong("has " + problem, "change its numbers, or network.image");
    }
    void push(const Entry& entry, const Layer& layer) {
        check(entry, layer);
        layers_.push_back(layer);
        rows_ = layer.output_rows();
    }

    std::optional<Image> image_;  ///< that the next entry takes; none: rows of no place
    std::size_t rows_;
    bool bias_;
    std::vector<Layer> layers_;
};

}  // namespace

const char* const layers_help =
    "what is before the logits, one text a layer, instead of network.hidden: \"conv CHANNELS HxW [stride N] "
    "[padding N] [dilation N] [groups N] [no_bias]\", \"dense WIDTH [no_bias]\", \"average_pool HxW [stride "
    "N] "
    "[padding N]\" (beside the image is 0), \"max_pool HxW [stride N] [padding N] [dilation N]\", \"dropout "
    "P\" (a "
    "step leaves out the part P of what comes before, the same for all records). ReLU follows every conv and "
    "dense, the rows of an image are flattened (channel, y, x) for a dense, and a last dense layer gives the "
    "logits: \"relu\" and \"flatten\" may be written, and say no more. []: network.hidden";

std::string problem_of(const Layer& layer) {
    if (layer.convolution) {
        if (std::string problem = problem_of(*layer.convolution, layer); !problem.empty()) return problem;
    }
    if (layer.in == 0 || layer.out == 0) return "no inputs or no outputs";
    if (layer.out > most_rows || layer.weighted_rows() > most_rows)
        return "more rows than " + std::to_string(most_rows);
    if (!layer.pooling) return "";
    if (std::string problem = problem_of(*layer.pooling); !problem.empty()) return problem;
    if (layer.pooling->input != layer.weighted())
        return "a pooling of an image of " + text_of(layer.pooling->input) + ", where there is one of " +
               text_of(layer.weighted());
    return "";
}

bool same_shape(const std::vector<Layer>& one, const std::vector<Layer>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const Layer& a, const Layer& b) {
        return a.in == b.in && a.out == b.out && a.convolution == b.convolution && a.pooling == b.pooling;
    });
}

std::vector<Layer> layers_of(const std::vector<std::string>& texts, const std::optional<Image>& image,
                             std::size_t inputs, bool bias) {
    LayerList list(image, inputs, bias);
    for (std::size_t i = 0; i < texts.size(); ++i) list.add(Entry(i + 1, texts[i]));
    return std::move(list).layers();
}

}  // namespace holdfast
