"""Train one trial at a time in plain PyTorch, with dense matrices, as a reference.

This trainer shares three things with `acm.training`: the protocol, the initial weights and the
random generator of dropout. Other tests check these three.
"""

import numpy as np
import torch
from torch.nn import functional

from acm.baselines.plain import MLP
from acm.nn.stacked import squares

# The position of a draw is epoch * EPOCH + layer * LAYER + element.
EPOCH, LAYER = 2**44, 2**36


class Draws:
    """Compute the dropout of one trial."""

    def __init__(self, seed, p):
        bits = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
        self.key = torch.tensor(bits - 2**64 if bits >= 2**63 else bits)
        self.p = p

    def drop(self, values, epoch, layer):
        """Drop values with probability `p`, and divide the others by `1 − p`."""
        counter = epoch * EPOCH + layer * LAYER + torch.arange(values.numel())
        kept = squares(counter, self.key) >= round(self.p * 2**32)
        return values * kept.view(values.shape) / (1 - self.p)

    def drop_stored(self, x, epoch, layer):
        """Drop only among the values of a matrix that are not zero."""
        nonzero = x != 0
        return torch.zeros_like(x).masked_scatter(nonzero, self.drop(x[nonzero], epoch, layer))


def logits(model, x, low, draws, epoch, sparse):
    """Compute the network's logits with matrices; without dropout, `draws` is `None`."""
    if isinstance(model, MLP):
        if draws:
            x = (draws.drop_stored if sparse else draws.drop)(x, epoch, 0)
        x = torch.relu(x @ model.first.weight + model.first.bias)
        x = draws.drop(x, epoch, 1) if draws else x
        return x @ model.second.weight + model.second.bias
    layer = 0
    if model.input_dropout is not None:
        if draws:
            x = (draws.drop_stored if sparse else draws.drop)(x, epoch, layer)
        layer += 1
    filters = {"low": torch.linalg.matrix_power(low, model.convs[0].hops)}
    filters["identity"] = torch.eye(len(low), dtype=low.dtype)
    filters["high"] = filters["identity"] - filters["low"]
    for depth, conv in enumerate(model.convs):
        if depth:
            x = torch.relu(x)
            x = draws.drop(x, epoch, layer) if draws else x
        act = torch.relu if conv.act is not None else lambda h: h
        h = []
        for k, c in enumerate(conv.channels):
            xw = x @ conv.weight[:, k]
            h += [filters[c] @ act(xw) if conv.variant == "acmii" else act(filters[c] @ xw)]
        if not conv.mix:
            x = sum(h)
            continue
        sigma = torch.stack([torch.sigmoid(a @ w) for a, w in zip(h, conv.weight_tilde)], 1)
        alpha = torch.softmax(sigma @ conv.weight_mix / 3, 1)
        x = len(h) * sum(alpha[:, [k]] * a for k, a in enumerate(h))
    return x


def train(model, x, low, y, trial, protocol, sparse=False):
    """Train one trial.

    Args:
        model: A `Network` or an `MLP`, whose weights are drawn anew and trained.
        x, low: Features and filter, dense.
        trial: A `Setting` with a dropout probability.
        sparse: Whether dropout on `x` acts only on values that are not zero.

    Returns:
        A dictionary of three curves, the selected epoch, its predictions, the number of epochs.
    """
    torch.manual_seed(trial.seed)
    model.reset_parameters()
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[protocol.optimizer]
    optimizer = kind(model.parameters(), lr=trial.lr, weight_decay=trial.weight_decay)
    draws = Draws(trial.seed, trial.dropout)
    curves = {"train_loss": [], "val_loss": [], "val_accuracy": []}
    best, window = None, protocol.window
    for epoch in range(protocol.max_epochs):
        optimizer.zero_grad()
        out = logits(model, x, low, draws, epoch, sparse)
        loss = functional.cross_entropy(out[trial.train], y[trial.train])
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            out = logits(model, x, low, None, epoch, sparse)
        curves["train_loss"] += [loss.item()]
        curves["val_loss"] += [functional.cross_entropy(out[trial.val], y[trial.val]).item()]
        right = out.argmax(1)[trial.val] == y[trial.val]
        curves["val_accuracy"] += [right.double().mean().item()]
        losses = curves["val_loss"]
        score = -losses[-1] if protocol.select == "loss" else curves["val_accuracy"][-1]
        if best is None or score > best[0]:
            best = score, epoch, out.argmax(1)
        if window is not None and epoch > window:
            if losses[-1] > sum(losses[-window - 1 : -1]) / window:
                break
    return curves, best[1], best[2], epoch + 1
