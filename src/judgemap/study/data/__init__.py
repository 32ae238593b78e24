"""What a study brings: its definition, its comparisons, and data from other tools."""
