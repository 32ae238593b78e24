"""The programming interface: a running study's comparisons and results, for those who work in R, Python or Stan."""
