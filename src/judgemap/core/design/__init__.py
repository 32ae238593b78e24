"""Which pairs to ask: designs, schedules, and how much a pair or a study tells us."""
