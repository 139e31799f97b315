"""The models of other papers, one module per family.

Every constructor takes `in_channels` (features of a node, `F`), `out_channels` (classes, `C`),
`hidden` (width of a hidden layer), `dropout` (probability that a value is dropped) and options of
the model, and raises `UsageError` if one is out of range. Every model is called as
`model(x, graph)`, where the graph is what `operator(edge_index, num_nodes)` returns, or edges.
"""
