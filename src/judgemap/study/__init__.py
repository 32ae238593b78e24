"""A study: its comparisons as tables, and a fit with its provenance."""
