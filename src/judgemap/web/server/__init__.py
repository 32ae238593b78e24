"""What every app stands on: limits, error pages, tokens, backup, processes."""
