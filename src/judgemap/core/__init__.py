"""Works on arrays only: comparisons, priors, samplers, diagnostics. No files, clocks, tables or maps."""
