"""The baselines of other papers, each for one graph and one set of weights.

Every one is called as `model(x, graph)`, `graph` being what its `operator(edge_index, num_nodes)`
returns, or the edges themselves; it has `reset_parameters()`, and its weights can be stacked but
for those that normalise over the nodes: MixHop and the two with jumping knowledge.
"""

from acm.baselines.attention import FAGCN, GAT
from acm.baselines.diffusion import APPNP, GPRGNN
from acm.baselines.geomgcn import GeomGCN
from acm.baselines.jk import GATJK, GCNJK
from acm.baselines.neighbourhoods import H2GCN, GraphSAGE, MixHop
from acm.baselines.plain import MLP, Snowball

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
