"""What every app builds on: limits, error pages, tokens, backup, processes."""
