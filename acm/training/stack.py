"""Train B trials at once: every parameter of the module gets a leading dimension B."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
import psutil
import torch
from torch import Tensor, nn

from acm.nn import Dropout
from acm.training.setting import Setting

# Each epoch has its part of a trial's random stream, and each dropout layer a part of that.
_EPOCH, _LAYER = 2**44, 2**36
#: Layers from 256 use the part of the stream after epoch 16,384.
_BEYOND = 2**58


def beginning(epoch: int, layer: int) -> int:
    """Return where the draws of a dropout layer begin in an epoch, as a signed 64-bit number."""
    further, layer = divmod(layer, _EPOCH // _LAYER)
    position = epoch * _EPOCH + layer * _LAYER + further * _BEYOND
    return (position + 2**63) % 2**64 - 2**63


# PyTorch's generator belongs to the whole process, so threads take turns.
GENERATOR = threading.RLock()


@contextmanager
def private_generator(device: torch.device):
    """Use PyTorch's generator in this thread alone, and restore its state afterwards."""
    devices = [device] if device.type == "cuda" else []
    with GENERATOR, torch.random.fork_rng(devices=devices):
        yield


class Stack:
    """Hold the weights of a batch of trials in a copy of the module.

    Args:
        template: The module; it is not changed.
        trials: Settings; the seed of each draws its initial weights.
        stacked: Whether the module computes all trials at once, or the only trial as usual.
    """

    def __init__(self, template: nn.Module, trials: Sequence[Setting], stacked: bool = True):
        self.template, self.stacked = template, stacked
        self.mode: bool | None = None
        drawn = []
        device = next(template.parameters()).device
        blank = copy.deepcopy(template).cpu()  # a GPU's generator would draw other weights
        # For a type checker, any attribute of a module is a tensor or a module.
        reset_parameters = cast(Callable[[], None], blank.reset_parameters)
        for trial in trials:
            _seed(int(trial.seed), device)
            reset_parameters()
            drawn.append([p.detach().clone() for p in blank.parameters()])
        self.names = [name for name, _ in template.named_parameters()]
        self.trained = [p.requires_grad for p in template.parameters()]
        # A weight that several modules share has several names.
        number = {id(p): k for k, p in enumerate(template.parameters())}
        named = template.named_parameters(remove_duplicate=False)
        self.numbered_names = [(name, number[id(p)]) for name, p in named]
        # The copy also has the buffers as `reset_parameters` leaves them.
        self.module = blank.to(device)
        parts = list(self.module.modules())
        self.layers = [m for m in parts if isinstance(m, Dropout)]
        # `nn.Module.train` is slow, so its flag is set here, unless a part overrides it.
        plain = all(type(m).train is nn.Module.train for m in parts)
        self.parts = parts if plain else None
        # The module holds these weights, or a view of the only trial.
        self.values = [torch.stack(w).to(device) for w in zip(*drawn)]
        keys = [_key(trial.seed) for trial in trials]
        self.key = torch.tensor(keys, dtype=torch.int64, device=device)
        self.p = [
            torch.tensor(
                [
                    float(layer.p) if layer.fixed_p or t.dropout is None else t.dropout
                    for t in trials
                ],
                dtype=torch.float64,
                device=device,
            )
            for layer in self.layers
        ]
        self._install()

    @property
    def random(self) -> bool:
        """Return whether a training pass draws random numbers."""
        return not self.stacked or any(bool((p > 0).any()) for p in self.p)

    def __call__(self, x, graph, epoch: int, training: bool) -> Tensor:
        """Return the logits of all trials, `[B, N, C]`."""
        if self.mode is not training:
            self._switch(training)
        for number, layer in enumerate(self.layers if training else ()):
            # A new tensor each time, since a gradient may still need the last draws.
            layer.counter = torch.full_like(layer.key, beginning(epoch, number))
        logits = self.module(x, graph)
        return logits if self.stacked else logits[None]

    def _switch(self, training: bool) -> None:
        if self.parts is None:
            self.module.train(training)
        for part in self.parts or ():
            part.__dict__["training"] = training
        self.mode = training

    def gradients(self, logits: Tensor, grad: Tensor) -> list[Tensor | None]:
        """Return the gradient of every weight, `[B, …]`, from that of the logits.

        A weight that is frozen or does not affect the logits has `None`.
        """
        logits = logits if self.stacked else logits[0]
        trained = [w for w in self.weights if w.requires_grad]
        gradients = iter(
            torch.autograd.grad(logits, trained, grad.view_as(logits), allow_unused=True)
        )
        grads = [next(gradients) if w.requires_grad else None for w in self.weights]
        return grads if self.stacked else [None if g is None else g[None] for g in grads]

    def _install(self) -> None:
        """Put weights and random streams into the module."""

        def view(tensor: Tensor) -> Tensor:
            return tensor if self.stacked else tensor[0]

        self.weights = [nn.Parameter(view(v), t) for v, t in zip(self.values, self.trained)]
        for name, k in self.numbered_names:
            weight = self.weights[k]
            *path, last = name.split(".")
            setattr(self.module.get_submodule(".".join(path)), last, weight)
        for layer, p in zip(self.layers, self.p):
            layer.p, layer.key = view(p), view(self.key)
            layer.counter = torch.zeros_like(layer.key)

    def keep(self, rows: Tensor) -> None:
        """Continue with these rows of the batch only."""
        self.values = [value[rows] for value in self.values]
        self.key = self.key[rows]
        self.p = [p[rows] for p in self.p]
        self._install()

    def state(self, row: int) -> dict[str, Tensor]:
        """Return a copy of the weights in one row, and of the buffers of a single trial."""
        if not self.stacked:
            return {n: value.detach().clone() for n, value in self.module.state_dict().items()}
        return {name: value[row].clone() for name, value in zip(self.names, self.values)}

    def model(self, state: dict[str, Tensor]) -> nn.Module:
        """Return a new module with these weights, in evaluation mode."""
        model = copy.deepcopy(self.template)
        model.load_state_dict(state, strict=False)
        return model.eval()


def _seed(seed: int, device: torch.device) -> None:
    # `torch.manual_seed` takes a millisecond, since it seeds all devices.
    draw = torch.default_generator if device.type == "cpu" else torch
    draw.manual_seed(seed)


def _key(seed: int) -> int:
    """Return the key of a trial's random stream: 64 mixed bits, odd, as a signed number."""
    bits = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
    return bits - 2**64 if bits >= 2**63 else bits


#: Bytes that a batch may fill on a CPU, so that its trials stay in the cache.
CACHE = 96 * 2**20
#: Largest batch on a CPU; the cost of Python per trial is then small.
LARGEST = 64


def batch_size(model: nn.Module, x, graph, trial: Setting) -> int:
    """Return how many trials to stack: as many as fit the cache and half of the free memory.

    The outcome of a trial does not depend on this number, so free memory changes the speed only.
    `benchmarks/README.md` shows time against batch size.
    """
    with private_generator(next(model.parameters()).device):
        stack = Stack(model, [trial])
        saved: dict[int, int] = {}

        def count(tensor: Tensor) -> Tensor:
            if tensor.layout == torch.strided:
                saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            logits = stack(x, graph, 0, training=True)
    weights = sum(value.untyped_storage().nbytes() for value in stack.values)
    # Weights, gradient, two moments and the selected weights; activations and their gradients.
    trial_bytes = 5 * weights + 2 * (sum(saved.values()) + logits.untyped_storage().nbytes())
    if logits.is_cuda:
        free, most = torch.cuda.mem_get_info(logits.device)[0], 1024
        return max(1, min(most, free // 2 // trial_bytes))
    free = psutil.virtual_memory().available
    return max(1, min(LARGEST, CACHE // trial_bytes, free // 2 // trial_bytes))
