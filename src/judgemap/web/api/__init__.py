"""The programming interface: a running study's comparisons and results, for use from R, Python or Stan."""
