"""The ACM layer and the paper's models: for one graph, and weights that may be stacked."""

from acm.nn.acm_conv import CHANNELS, ACMConv
from acm.nn.dropout import Dropout
from acm.nn.models import MODELS, Architecture, Network, build, model_name
from acm.nn.product import product

__all__ = [
    "CHANNELS",
    "MODELS",
    "ACMConv",
    "Architecture",
    "Dropout",
    "Network",
    "build",
    "model_name",
    "product",
]
