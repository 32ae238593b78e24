"""Samplers for a panel of judges."""
