"""Whole pages: briefings, plans, notebooks."""
