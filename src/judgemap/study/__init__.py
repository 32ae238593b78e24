"""A study: its comparisons as tables, and fits with their provenance."""
