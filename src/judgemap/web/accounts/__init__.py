"""Researchers: who they are and how the first one is made."""
