"""The pages of one finished fit: its map and table, how well it was sampled, its checks, other fits beside it."""
