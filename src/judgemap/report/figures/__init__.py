"""Pictures: maps, figures of fits and of simulation studies."""
