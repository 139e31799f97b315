"""The ACM layer and every model of the paper: for one graph, and weights that may be stacked."""

from acm.nn.acm_conv import ACMConv
from acm.nn.checks import CHANNELS
from acm.nn.gcnii import GCNII
from acm.nn.models import ARCHITECTURES, Architecture, Network
from acm.nn.stacked import Dropout, each, product
from acm.nn.structure import ACMPlus

__all__ = [
    "ARCHITECTURES",
    "CHANNELS",
    "GCNII",
    "ACMConv",
    "ACMPlus",
    "Architecture",
    "Dropout",
    "Network",
    "each",
    "product",
]
