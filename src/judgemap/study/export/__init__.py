"""A fit for other programs and other people."""
