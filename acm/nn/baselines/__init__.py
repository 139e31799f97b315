"""The baselines of other papers, each for one graph and one set of weights.

Every one is called as `model(x, graph)`, `graph` being what its `operator(edge_index, num_nodes)`
returns, or the edges themselves; it has `reset_parameters()`, and its weights can be stacked but
for those that normalise over the nodes: MixHop and the two with jumping knowledge.
"""

from acm.nn.baselines.appnp import APPNP
from acm.nn.baselines.fagcn import FAGCN
from acm.nn.baselines.gat import GAT
from acm.nn.baselines.geomgcn import GeomGCN
from acm.nn.baselines.gprgnn import GPRGNN
from acm.nn.baselines.graphsage import GraphSAGE
from acm.nn.baselines.h2gcn import H2GCN
from acm.nn.baselines.jk import GATJK, GCNJK
from acm.nn.baselines.mixhop import MixHop
from acm.nn.baselines.mlp import MLP
from acm.nn.baselines.snowball import Snowball

__all__ = [
    "APPNP",
    "FAGCN",
    "GAT",
    "GATJK",
    "GCNJK",
    "GPRGNN",
    "GeomGCN",
    "GraphSAGE",
    "H2GCN",
    "MLP",
    "MixHop",
    "Snowball",
]
