"""Samplers for clusters of areas."""
