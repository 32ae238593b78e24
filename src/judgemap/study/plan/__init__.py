"""Before anyone is asked: what precision to expect, and which pairs to show."""
