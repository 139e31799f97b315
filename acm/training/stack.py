"""Train B trials at once: every parameter of the module gets a leading dimension B."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
import psutil
import torch
from torch import Tensor, nn
from torch.func import functional_call

from acm.nn import Dropout
from acm.training.setting import Setting


def beginning(epoch: int, layer: int) -> int:
    """Return the first draw of a dropout layer in an epoch, as a signed 64-bit number.

    An epoch has 2⁴⁴ draws of a trial's random stream. Each of 256 layers has 2³⁶ of these draws.
    Further layers use the draws of epoch 16,384 and later.
    """
    further, layer = divmod(layer, 2**8)
    return _signed(epoch * 2**44 + layer * 2**36 + further * 2**58)


def _key(seed: int) -> int:
    """Return the key of a trial's random stream: 64 mixed bits, odd, as a signed number."""
    return _signed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1)


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


# All threads of a process share PyTorch's generator, so threads take turns.
GENERATOR = threading.RLock()


@contextmanager
def private_generator(device: torch.device):
    """Reserve PyTorch's generator for this thread, and restore the generator's state at the end."""
    devices = [device] if device.type == "cuda" else []
    with GENERATOR, torch.random.fork_rng(devices=devices):
        yield


class Stack:
    """Hold the weights of a batch of trials, and call a copy of the module with these weights.

    With `stacked`, one call computes all trials. Otherwise the batch must have one trial.
    """

    def __init__(self, template: nn.Module, trials: Sequence[Setting], stacked: bool = True):
        self.template, self.stacked = template, stacked
        device = next(template.parameters()).device
        # `torch.manual_seed` takes a millisecond, since it seeds all devices.
        generator = torch.default_generator if device.type == "cpu" else torch
        module = copy.deepcopy(template).cpu()  # a GPU would draw other weights
        drawn = []
        for trial in trials:
            generator.manual_seed(int(trial.seed))
            module.reset_parameters()  # type: ignore[operator]
            drawn.append([p.detach().clone() for p in module.parameters()])
        # The copy also keeps the buffers that the last `reset_parameters` has set.
        self.module = module.to(device).train()
        self.names = [name for name, _ in template.named_parameters()]
        self.weights = [
            torch.stack(values).to(device).requires_grad_(parameter.requires_grad)
            for values, parameter in zip(zip(*drawn), template.parameters())
        ]
        self.layers = [m for m in self.module.modules() if isinstance(m, Dropout)]
        self.key = torch.tensor([_key(t.seed) for t in trials], device=device)
        dropouts = [
            [float(m.p) if m.fixed_p or t.dropout is None else t.dropout for t in trials]
            for m in self.layers
        ]
        p = torch.tensor(dropouts, dtype=torch.float64, device=device)
        self.p = p.view(len(self.layers), len(trials))

    def __call__(self, x, graph, epoch: int, training: bool) -> Tensor:
        """Return the logits of all trials, `[B, N, C]`."""
        if self.module.training is not training:
            self.module.train(training)

        def view(values: Tensor) -> Tensor:
            return values if self.stacked else values[0]

        for number, (layer, p) in enumerate(zip(self.layers, self.p) if training else ()):
            layer.p, layer.key = view(p), view(self.key)
            # `counter` is a new tensor, since a gradient may still need the old one.
            layer.counter = torch.full_like(layer.key, beginning(epoch, number))
        with torch.set_grad_enabled(training):
            weights = dict(zip(self.names, map(view, self.weights)))
            logits = functional_call(self.module, weights, (x, graph))
        return logits if self.stacked else logits[None]

    def gradients(self, logits: Tensor, grad: Tensor) -> list[Tensor | None]:
        """Return every weight's gradient, `[B, …]`, or `None` for frozen and unused weights."""
        trained = [w for w in self.weights if w.requires_grad]
        gradients = iter(torch.autograd.grad(logits, trained, grad, allow_unused=True))
        return [next(gradients) if w.requires_grad else None for w in self.weights]

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows of the batch."""
        self.weights = [w.detach()[rows].requires_grad_(w.requires_grad) for w in self.weights]
        self.key, self.p = self.key[rows], self.p[:, rows]

    def state(self, row: int) -> dict[str, Tensor]:
        """Return a copy of one trial's weights and, if not `stacked`, of the module's buffers."""
        buffers = {} if self.stacked else dict(self.module.named_buffers())
        weights = {name: w[row] for name, w in zip(self.names, self.weights)}
        return {name: value.detach().clone() for name, value in (buffers | weights).items()}

    def model(self, state: dict[str, Tensor]) -> nn.Module:
        """Return a new module with these weights, in evaluation mode."""
        model = copy.deepcopy(self.template)
        model.load_state_dict(state, strict=False)
        return model.eval()


#: Largest memory of a batch on a CPU, in bytes, so that the batch stays in the cache.
CACHE = 96 * 2**20
#: Largest batch on a CPU; a larger one would hardly reduce Python's cost per trial.
LARGEST = 64


def batch_size(model: nn.Module, x, graph, trial: Setting) -> int:
    """Return the largest batch that fits half of the free memory and, on a CPU, the cache.

    The batch size changes the speed of training, but not the result of a trial.
    `benchmarks/README.md` shows the training time for several batch sizes.
    """
    saved: dict[int, int] = {}

    def count(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided:
            saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with private_generator(next(model.parameters()).device):
        stack = Stack(model, [trial])
        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            logits = stack(x, graph, 0, training=True)
    weights = sum(w.untyped_storage().nbytes() for w in stack.weights)
    # 5: weights, gradient, two moments, selected weights; 2: activations and their gradients.
    trial_bytes = 5 * weights + 2 * (sum(saved.values()) + logits.untyped_storage().nbytes())
    if logits.is_cuda:
        most, memory = 1024, torch.cuda.mem_get_info(logits.device)[0] // 2
    else:
        most, memory = LARGEST, min(CACHE, psutil.virtual_memory().available // 2)
    return max(1, min(most, memory // trial_bytes))
