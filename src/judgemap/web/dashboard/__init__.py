"""A study as answers come in: what was answered, by whom, and how reliable the result is."""
