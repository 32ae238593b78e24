"""Fits: making them, and every page about them."""
