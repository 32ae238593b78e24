"""A study while answers come in: what was answered, by whom, and how far the result can be relied on."""
