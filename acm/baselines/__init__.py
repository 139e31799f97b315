"""The models of other papers, one module per family.

Every constructor takes `in_channels` (features of a node, `F`), `out_channels` (classes, `C`),
`hidden` (width of a hidden layer) and `dropout` (probability that a value is dropped). Each class
lists its other arguments. A constructor raises `UsageError` if an argument is out of range.

Every model is called as `model(x, graph)`. The graph is what the model's
`operator(edge_index, num_nodes)` returns, or the edges themselves.
"""
