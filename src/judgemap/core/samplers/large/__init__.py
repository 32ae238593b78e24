"""Samplers for maps of tens of thousands of areas."""
