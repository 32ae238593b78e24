"""Fits: their settings, how they are run, recorded and kept."""
