"""Load the layers of the authors' release, if its files exist, to compare our layers."""

import importlib.util
import os
from pathlib import Path

import pytest

#: The folder with `models/layers.py` of SitaoLuan/ACM-GNN, commit 75b4853.
FOLDER = Path(
    os.environ.get("ACM_RELEASE") or Path(__file__).resolve().parents[3] / "shared" / "release"
)
needs_release = pytest.mark.skipif(
    not (FOLDER / "models" / "layers.py").is_file(),
    reason="the authors' release is neither in ACM_RELEASE nor in ../shared/release",
)


def release_layers():
    """Return the module `models/layers.py` of the release."""
    spec = importlib.util.spec_from_file_location("layers", FOLDER / "models" / "layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_weights(theirs, ours):
    """Give a layer of the release the weights of an `ACMConv` or a `StructureConv`."""
    names = ["low", "high", "mlp"]
    for name, weight in zip(names, ours.weight.unbind(1)):
        getattr(theirs, f"weight_{name}").data = weight.detach().clone()
    for name, tilde in zip(names, ours.weight_tilde):
        getattr(theirs, f"att_vec_{name}").data = tilde.detach()[:, None].clone()
    theirs.att_vec.data = ours.weight_mix.detach().clone()
    if hasattr(ours, "weight_structure"):
        theirs.struc_low.data = ours.weight_structure.detach().clone()
        theirs.att_struc_low.data = ours.weight_tilde[3].detach()[:, None].clone()
