"""Samplers for one map."""
