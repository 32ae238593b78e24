"""Researchers' side of judges: links, groups, export, and how long answers are kept."""
