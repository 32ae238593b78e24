"""What draws say: about areas, judges and clusters, and whether the model fits the answers."""
