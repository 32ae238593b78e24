"""Studies: their versions, areas and edges, and what changes them."""
