"""Many sets of weights for one module: `[B, …]` where it has `[…]`."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import psutil
import torch
from torch import Tensor, nn

from acm import kernels
from acm.errors import UsageError
from acm.nn import Dropout
from acm.training.protocol import Setting

# Where a draw stands in a trial's stream: the epoch, then the dropout layer, then the element.
_EPOCH, _LAYER = 2**44, 2**36
#: From layer 256 on an epoch has no more room; there is some beyond 16,384 epochs.
_BEYOND = 2**58


def beginning(epoch: int, layer: int) -> int:
    """Where the draws of a dropout layer begin in an epoch, as a signed number of 64 bits."""
    further, layer = divmod(layer, _EPOCH // _LAYER)
    found = epoch * _EPOCH + layer * _LAYER + further * _BEYOND
    return (found + 2**63) % 2**64 - 2**63


# PyTorch's generator belongs to the whole process: only one thread at a time may draw from it.
GENERATOR = threading.RLock()


@contextmanager
def private_generator(device: torch.device):
    """PyTorch's generator for this thread alone; what it was before is restored."""
    devices = [device] if device.type == "cuda" else []
    with GENERATOR, torch.random.fork_rng(devices=devices):
        yield


class Stack:
    """The weights of a batch of trials, drawn by the seed of each, in a copy of the module.

    Args:
        template: The module, which is left as it is.
        trials: What each is to be.
        stacked: Whether the module runs all trials at once, or is called with the weights of one.
    """

    def __init__(self, template: nn.Module, trials: Sequence[Setting], stacked: bool = True):
        self.template, self.stacked, self.mode = template, stacked, None
        drawn = []
        device = next(template.parameters()).device
        blank = copy.deepcopy(template).cpu()  # a GPU's generator would draw other weights
        for trial in trials:
            _seed(int(trial.seed), device)
            blank.reset_parameters()
            drawn.append([p.detach().clone() for p in blank.parameters()])
        self.names = [name for name, _ in template.named_parameters()]
        self.trained = [p.requires_grad for p in template.parameters()]
        # A weight that several modules share has several names.
        every = template.named_parameters(remove_duplicate=False)
        place = {id(p): k for k, p in enumerate(template.parameters())}
        self.places = [(name, place[id(p)]) for name, p in every]
        # With what `reset_parameters` makes of buffers, such as the means of a normalisation.
        self.module = blank.to(device)
        parts = list(self.module.modules())
        self.layers = [m for m in parts if isinstance(m, Dropout)]
        # What `train` sets, unless a part has one of its own: it takes a hundred times as long.
        plain = all(type(m).train is nn.Module.train for m in parts)
        self.parts = parts if plain else None
        # Kept on the side: the module may hold views of one trial.
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
        """Whether training draws anything at all."""
        return not self.stacked or any(bool((p > 0).any()) for p in self.p)

    def __call__(self, x, graph, epoch: int, training: bool) -> Tensor:
        """The logits of all trials, `[B, N, C]`."""
        if self.mode is not training:
            self._switch(training)
        for number, layer in enumerate(self.layers if training else ()):
            # A new tensor: a gradient may still need the draws that the last one stands for.
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
        """Those in the weights of every trial, `[B, …]`, from that in the logits; `None` where a
        weight is frozen, or has no part in them."""
        logits = logits if self.stacked else logits[0]
        trained = [w for w in self.weights if w.requires_grad]
        every = torch.autograd.grad(logits, trained, grad.view_as(logits), allow_unused=True)
        found = iter(every)
        grads = [next(found) if w.requires_grad else None for w in self.weights]
        return grads if self.stacked else [None if g is None else g[None] for g in grads]

    def _install(self) -> None:
        """Put weights and draws where the module looks for them."""

        def own(tensor: Tensor) -> Tensor:
            return tensor if self.stacked else tensor[0]

        self.weights = [nn.Parameter(own(v), t) for v, t in zip(self.values, self.trained)]
        for name, k in self.places:
            weight = self.weights[k]
            *path, last = name.split(".")
            setattr(self.module.get_submodule(".".join(path)), last, weight)
        for layer, p in zip(self.layers, self.p):
            layer.p, layer.key = own(p), own(self.key)
            layer.counter = torch.zeros_like(layer.key)

    def keep(self, places: Tensor) -> None:
        """Go on with these trials only."""
        self.values = [value[places] for value in self.values]
        self.key = self.key[places]
        self.p = [p[places] for p in self.p]
        self._install()

    def state(self, place: int) -> dict[str, Tensor]:
        """A copy of one trial's weights, and of what else its module keeps."""
        if not self.stacked:
            return {n: value.detach().clone() for n, value in self.module.state_dict().items()}
        return {name: value[place].clone() for name, value in zip(self.names, self.values)}

    def model(self, state: dict[str, Tensor]) -> nn.Module:
        """A module of its own with these weights, in evaluation mode."""
        model = copy.deepcopy(self.template)
        model.load_state_dict(state, strict=False)
        return model.eval()


def _seed(seed: int, device: torch.device) -> None:
    # PyTorch's function takes a millisecond, for devices that have no part in it here.
    draw = torch.default_generator if device.type == "cpu" else torch
    draw.manual_seed(seed)


def _key(seed: int) -> int:
    """The key of a trial's draws: 64 well-mixed bits, odd, as a signed number."""
    bits = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
    return bits - 2**64 if bits >= 2**63 else bits


def stackable(template: nn.Module, x, graph, trial: Setting) -> bool:
    """Whether the module gives, for stacked weights, what it gives for those of one trial."""
    # Two trials, for what one does cannot be told from what all do if there is only one.
    trials = [trial, replace(trial, seed=trial.seed ^ 1)]
    device = next(template.parameters()).device
    with private_generator(device), torch.no_grad():
        alone = [Stack(template, [t], stacked=False) for t in trials]
        apart = [torch.cat([one(x, graph, 0, mode) for one in alone]) for mode in (True, False)]
        try:
            stack = Stack(template, trials)
            before = _generators(device)
            together = [stack(x, graph, 0, mode) for mode in (True, False)]
        except UsageError:
            raise
        except (RuntimeError, NotImplementedError, ValueError, TypeError, AttributeError):
            return False
        # A model may have draws that all trials would share.
        drew = not all(map(torch.equal, _generators(device), before))
    return not drew and all(
        many.shape == one.shape and torch.allclose(many, one, rtol=1e-3, atol=1e-5)
        for many, one in zip(together, apart)
    )


def _generators(device: torch.device) -> list[Tensor]:
    """The states of the generators that a module could draw from."""
    states = [torch.random.get_rng_state()]
    return states + ([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])


#: What a batch may fill on a CPU: beyond it, trials push each other out of the cache.
CACHE = 96 * 2**20
#: No batch is larger than this; beyond, the cost of Python no longer counts.
LARGEST = 64


def batch_size(model: nn.Module, x, graph, trial: Setting) -> int:
    """How many trials to stack: as many as fit the cache, and half of the free memory.

    On a CPU one more trial saves a share of the time that Python takes between the kernels, and
    costs once the batch leaves the cache, on large graphs more than it saves; on a GPU only memory
    counts. `benchmarks/README.md` has the curve.
    """
    with private_generator(next(model.parameters()).device):
        stack = Stack(model, [trial])
        held: dict[int, int] = {}

        def see(tensor: Tensor) -> Tensor:
            if tensor.layout == torch.strided:
                held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(see, lambda tensor: tensor):
            logits = stack(x, graph, 0, training=True)
    weights = sum(value.untyped_storage().nbytes() for value in stack.values)
    # Weights, gradient, both moments and the selected weights; activations and their gradients.
    trial_bytes = 5 * weights + 2 * (sum(held.values()) + logits.untyped_storage().nbytes())
    if logits.is_cuda:
        free, most = torch.cuda.mem_get_info(logits.device)[0], 1024
        return max(1, min(most, free // 2 // trial_bytes))
    free = psutil.virtual_memory().available
    return max(1, min(LARGEST, CACHE // trial_bytes, free // 2 // trial_bytes))


BETAS, EPS = (0.9, 0.999), 1e-8


class Adam:
    """Adam (Kingma and Ba, 2015) on weights `[B, …]`, as `torch.optim.Adam` on each trial.

    Args:
        weights: Stacked weights, changed in place.
        lr: Learning rate of each trial, `[B]`.
        weight_decay: Weight decay of each trial, `[B]`.
        decoupled: Whether it shrinks the weights themselves (AdamW) or adds to the gradient.
    """

    def __init__(
        self, weights: Sequence[Tensor], lr: Tensor, weight_decay: Tensor, decoupled: bool
    ):
        self.steps = [0] * len(weights)
        self.mean = [torch.zeros_like(w) for w in weights]
        self.square = [torch.zeros_like(w) for w in weights]
        self._arrays: tuple | None = None
        self.lr = lr
        self.shrink = 1 - lr * weight_decay if decoupled else torch.ones_like(lr)
        self.l2 = torch.zeros_like(lr) if decoupled else weight_decay

    @torch.no_grad()
    def step(self, weights: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
        """Move the weights once; one without a gradient stays where it is."""
        self.steps = [n + (g is not None) for n, g in zip(self.steps, gradients)]
        correction = [tuple(1 - beta**n for beta in BETAS) for n in self.steps]
        if kernels.supports(*weights):
            if self._arrays is None:  # they are the same from step to step
                states = [kernels.arrays(*s) for s in zip(weights, self.mean, self.square)]
                self._arrays = states, [kernels.numpy(t) for t in (self.lr, self.shrink, self.l2)]
            states, rates = self._arrays
            kernels.adam(states, gradients, *rates, BETAS, correction, EPS)
            return
        for *state, unbiased in zip(weights, gradients, self.mean, self.square, correction):
            if state[1] is not None:
                self._step(*state, unbiased)

    def _step(self, w: Tensor, g: Tensor, m: Tensor, v: Tensor, correction) -> None:
        def each(values: Tensor) -> Tensor:  # one value a trial, ready to meet `[B, …]`
            return values.to(w.dtype).view(-1, *[1] * (w.dim() - 1))

        g = g + each(self.l2) * w
        m.lerp_(g, 1 - BETAS[0])
        v.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
        root = v.sqrt().div_(correction[1] ** 0.5).add_(EPS)
        w.mul_(each(self.shrink)).sub_(each(self.lr / correction[0]) * m / root)

    def keep(self, trials: Tensor) -> None:
        """Go on with these trials only, whose weights are other tensors from now on."""
        self._arrays = None
        self.mean, self.square = ([t[trials] for t in ts] for ts in (self.mean, self.square))
        self.lr, self.shrink, self.l2 = (t[trials] for t in (self.lr, self.shrink, self.l2))
