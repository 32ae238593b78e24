"""Commands, progress bars, exit statuses. Nothing is computed here."""
