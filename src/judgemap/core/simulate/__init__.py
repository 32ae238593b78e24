"""Simulated judges and studies, from the model and from its violations."""
