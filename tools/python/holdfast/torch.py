"""Models as torch modules and back; holdfast.models calls it, so that it needs no torch itself."""

import collections

import torch

from . import layers as network_layers
from . import models

ModelError = network_layers.ModelError


class Input(torch.nn.Module):
    """(clamp(feature; range) - shift) * scale; NaN counts as the low end."""

    def __init__(self, shift, scale, low, high):
        super().__init__()
        for name, value in (("shift", shift), ("scale", scale), ("low", low), ("high", high)):
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64))

    def forward(self, features):
        features = features.to(self.low.dtype)
        inside = torch.where(features >= self.low, torch.minimum(features, self.high), self.low)
        return (inside - self.shift) * self.scale


def module_of(shape):
    convolution, bias = network_layers.part(shape, "convolution"), network_layers.has_bias(shape)
    channels = network_layers.weighted_image(shape)[0]
    if not convolution:
        return torch.nn.Linear(network_layers.rows_in(shape), channels, bias, dtype=torch.float64)
    named = {name: convolution[name] for name in ("stride", "padding", "dilation", "groups")}
    return torch.nn.Conv2d(convolution["image"][0], channels, convolution["window"], bias=bias, dtype=torch.float64, **named)


def pooling_of(shape):
    pooling = shape["pooling"]
    named = {name: pooling[name] for name in ("stride", "padding")}
    if pooling["kind"] == "average":
        return torch.nn.AvgPool2d(pooling["window"], **named)
    return torch.nn.MaxPool2d(pooling["window"], dilation=pooling["dilation"], **named)


def to_torch(model):
    modules = collections.OrderedDict(input=Input(model.shift, model.scale, *model.range))
    image = False  # or rows
    for layer in range(len(model.units)):
        shape = model.shape(layer)
        if layer:
            modules[f"relu_{layer}"] = torch.nn.ReLU()
            if network_layers.part(model.shape(layer - 1), "pooling"):
                modules[f"pool_{layer}"] = pooling_of(model.shape(layer - 1))
        convolution = network_layers.part(shape, "convolution")
        if bool(convolution) != image:
            modules[f"image_{layer}"] = torch.nn.Unflatten(1, convolution["image"]) if convolution else torch.nn.Flatten()
            image = not image
        module = module_of(shape)
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(model.weight(layer)).reshape(module.weight.shape))
            if module.bias is not None:
                module.bias.copy_(torch.from_numpy(model.bias(layer)))
        modules[f"layer_{layer}"] = module
    return torch.nn.Sequential(modules).eval()


def from_torch(module, loss=None, image=None, layers=None, **fields):
    fields = {"program": "PyTorch", "program_version": torch.__version__, **fields}
    if isinstance(module, torch.nn.Module):
        layers, image = layers_of(module, image)
        module = module.state_dict()
    state = dict(module)
    if "input.shift" in state:
        shift, scale, low, high = (float(state.pop(f"input.{name}")) for name in ("shift", "scale", "low", "high"))
        fields = {"shift": shift, "scale": scale, "range": (low, high), **fields}
    if layers is None:
        weights = [name for name in state if name.endswith("weight")]
        for name in weights:
            if state[name].ndim != 2:
                raise ModelError(f"{name} has {state[name].ndim} axes: say layers, the texts of network.layers")
        layers = [f"dense {len(state[name])}" + ("" if name[: -len("weight")] + "bias" in state else " no_bias") for name in weights[:-1]]
    return models.from_state_dict(state, layers, image, loss, **fields)


def one_number(value, what):
    numbers = set(value) if isinstance(value, tuple) else {value}
    if len(numbers) != 1 or not isinstance(next(iter(numbers)), int):
        raise ModelError(f"{what} {value}: layers here have one number for both sides")
    return numbers.pop()


def pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def window_text(part, names):
    words = ["x".join(str(side) for side in pair(part.kernel_size))]
    for name in names:
        words += [name, str(one_number(getattr(part, name), name))]
    return " ".join(words)


def layers_of(module, image=None):
    """(texts of network.layers, image) of a Sequential: a state_dict does not tell."""
    if not isinstance(module, torch.nn.Sequential):
        raise ModelError(f"{type(module).__name__} is no Sequential")
    texts, weights, active = [], 0, True
    for part in module:
        kind = type(part).__name__
        if kind in ("Identity", "Input"):
            continue
        if kind == "Unflatten":
            image = list(part.unflattened_size)
        elif kind in ("Linear", "Conv2d"):
            if not active:
                raise ModelError("two layers without ReLU between them: layers here have one behind each")
            no_bias, active = "" if part.bias is not None else " no_bias", False
            weights += 1
            if kind == "Conv2d" and part.padding_mode != "zeros":
                raise ModelError(f"padding_mode {part.padding_mode}: beside an image is 0 here")
            texts.append(f"dense {part.out_features}{no_bias}" if kind == "Linear" else f"conv {part.out_channels} {window_text(part, ('stride', 'padding', 'dilation', 'groups'))}{no_bias}")
        elif kind == "ReLU":
            active = True
        elif kind in ("MaxPool2d", "AvgPool2d"):
            if part.ceil_mode or getattr(part, "divisor_override", None) or not getattr(part, "count_include_pad", True):
                raise ModelError(f"{part}: windows here lie on whole strides, and an average is over all their taps")
            active = active or kind == "MaxPool2d"  # ReLU behind a greatest value is ReLU before it
            texts.append(f"max_pool {window_text(part, ('stride', 'padding', 'dilation'))}" if kind == "MaxPool2d" else f"average_pool {window_text(part, ('stride', 'padding'))}")
            if not active:
                raise ModelError("an average without ReLU before it: layers here have one behind each")
        elif kind == "Flatten":
            texts.append("flatten")
        elif kind == "Dropout":
            texts.append(f"dropout {part.p}")
        else:
            raise ModelError(f"{kind}: layers here are Linear and Conv2d with ReLU between them, MaxPool2d, AvgPool2d, Dropout and Flatten")
    if active or not texts[-1].startswith("dense"):
        raise ModelError("the last layer is no Linear: layers here are Linear with ReLU between them, and the last gives the logits")
    return texts[:-1], image
