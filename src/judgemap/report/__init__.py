"""Tables, figures, maps and pages for people."""
