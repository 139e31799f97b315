"""Define the ACM layer and the networks of the paper, for one graph and one trial."""

from acm.nn.acm_conv import ACMConv
from acm.nn.checks import CHANNELS
from acm.nn.gcnii import GCNII
from acm.nn.networks import Network
from acm.nn.stacked import Dropout, per_trial, product
from acm.nn.structure import ACMPlus

__all__ = [
    "CHANNELS",
    "GCNII",
    "ACMConv",
    "ACMPlus",
    "Dropout",
    "Network",
    "per_trial",
    "product",
]
