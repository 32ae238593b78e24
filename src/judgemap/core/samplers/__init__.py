"""Samplers of the posterior of strengths and α². One kernel a file; `run` runs any of them in several chains."""
