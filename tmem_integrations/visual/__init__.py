"""A forest to look at: one graph, drawn in the terminal, as a page, in Mermaid and in a notebook."""
