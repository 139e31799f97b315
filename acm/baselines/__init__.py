"""Define the models of other papers, one module per family.

Every constructor takes `in_channels` (features of a node, `F`), `out_channels` (classes, `C`),
`hidden` (width of a hidden layer), `dropout` (a probability) and options of the model. A value
out of range raises `UsageError`. Every model is called as `model(x, graph)`, where `graph` is the
result of `operator(edge_index, num_nodes)`, or the edges `[2, E]`.
"""
