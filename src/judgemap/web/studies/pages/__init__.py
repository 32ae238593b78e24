"""Researchers' pages about their studies."""
