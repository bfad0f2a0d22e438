#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// What is wrong with one layer, taken alone; empty: nothing. Of any numbers: none overflows.
std::string problem_of(const Layer& layer);

/// Do the same weights, of the same places, come out as the same rows? What a step leaves out counts nothing.
bool same_shape(const std::vector<Layer>& one, const std::vector<Layer>& other);

/// The layers of a list of texts, as network.layers has it, but for the last one to the logits:
///   conv CHANNELS HxW [stride N] [padding N] [dilation N] [groups N] [no_bias]     weights, then ReLU
///   dense WIDTH [no_bias]                                                         weights, then ReLU
///   average_pool HxW [stride N] [padding N], max_pool HxW [stride N] [padding N] [dilation N]
///   dropout P
///   relu, flatten                                                                 said already
/// `inputs`: rows that the first one takes, those of the image if there is one. bias = false: none has one.
/// Error (usage), naming the entry, its place and the remedy.
std::vector<Layer> layers_of(const std::vector<std::string>& texts, const std::optional<Image>& image,
                             std::size_t inputs, bool bias);

extern const char* const layers_help;  ///< the same in a sentence or two

}  // namespace holdfast
