"""Tags of researchers' pages."""
