"""The judge's side of a study, played by its researcher. Nothing is stored: where one is, a signed cookie knows."""
