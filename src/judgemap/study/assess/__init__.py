"""What is said about a fit: checks, judges, reliability, and one verdict."""
