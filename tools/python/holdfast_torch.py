"""Models as torch modules and back; holdfast_models.py calls it, so that it needs no torch itself."""

import collections

import torch

import holdfast_models


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


def to_torch(model):
    modules = collections.OrderedDict(input=Input(model.shift, model.scale, *model.range))
    for layer, units in enumerate(model.units):
        if layer:
            modules[f"relu_{layer}"] = torch.nn.ReLU()
        linear = torch.nn.Linear(units.shape[1] - 1, units.shape[0], dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(model.weight(layer)))
            linear.bias.copy_(torch.from_numpy(model.bias(layer)))
        modules[f"layer_{layer}"] = linear
    return torch.nn.Sequential(modules).eval()


def from_torch(module, loss=None, **fields):
    fields = {"program": "PyTorch", "program_version": torch.__version__, **fields}
    if isinstance(module, torch.nn.Module):
        check_architecture(module)
        module = module.state_dict()
    state = {name: tensor.detach().cpu().double().numpy() for name, tensor in module.items()}
    if "input.shift" in state:
        shift, scale, low, high = (float(state.pop(f"input.{name}")) for name in ("shift", "scale", "low", "high"))
        fields = {"shift": shift, "scale": scale, "range": (low, high), **fields}
    layers = []
    for name in [name for name in state if name.endswith("weight")]:
        weight, bias = state.pop(name), state.pop(name[: -len("weight")] + "bias", None)
        if weight.ndim != 2:
            raise holdfast_models.ModelError(f"{name} has {weight.ndim} axes: layers here are Linear")
        layers.append((weight, [0.0] * len(weight) if bias is None else bias))
    if state:
        raise holdfast_models.ModelError(f"{', '.join(state)}: nothing that Linear layers have")
    return holdfast_models.from_layers(layers, loss, **fields)


def check_architecture(module):
    """Linear, ReLU, Linear, …: a state_dict does not tell."""
    if not isinstance(module, torch.nn.Sequential):
        raise holdfast_models.ModelError(f"{type(module).__name__} is no Sequential")
    kinds = [type(part).__name__ for part in module if not isinstance(part, (torch.nn.Identity, torch.nn.Dropout))]
    kinds = kinds[1:] if kinds[:1] == ["Input"] else kinds
    if kinds != (["Linear", "ReLU"] * len(kinds))[: len(kinds)] or len(kinds) % 2 == 0:
        raise holdfast_models.ModelError(f"{', '.join(kinds)}: layers here are Linear with ReLU between them")
