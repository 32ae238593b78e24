"""Comparative judgement on maps."""
