"""Fits in the background: asked for on a page or by the number of answers, made by a worker, kept with their data."""
