"""The judge: links, consent, pairs and answers."""
