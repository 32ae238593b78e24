"""Boundary files, geometries and adjacency."""
