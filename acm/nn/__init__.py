"""The ACM layer and every model of the paper: for one graph, and weights that may be stacked."""

from acm.nn.acm_conv import ACMConv
from acm.nn.checks import CHANNELS
from acm.nn.dropout import Dropout
from acm.nn.each import each
from acm.nn.gcnii import GCNII
from acm.nn.models import ARCHITECTURES, Architecture, Network
from acm.nn.product import product
from acm.nn.registry import MODELS, Entry, build, load_own, model_name, register
from acm.nn.structure import ACMPlus

from acm.nn import rows  # isort: skip  (fills MODELS)

__all__ = [
    "ARCHITECTURES",
    "CHANNELS",
    "GCNII",
    "MODELS",
    "ACMConv",
    "ACMPlus",
    "Architecture",
    "Dropout",
    "Entry",
    "Network",
    "build",
    "each",
    "load_own",
    "model_name",
    "product",
    "register",
    "rows",
]

load_own()
